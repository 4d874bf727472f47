import { scannerSchemaOf } from '@opentill/db/scanner-schema';
import { chainStatusText, stopsPayouts } from '@opentill/domain/chain-status';
import { familyOf } from '@opentill/domain/chains';
import type { CheckResult, Checks } from '@opentill/runtime/health';
import { withDeadline } from '@opentill/runtime/deadline';
import type { Answer } from './answer.ts';
import type { AssetBook } from './asset-book.ts';
import type { ChainReadiness } from './chain-readiness.ts';
import type { DepositAddressPool } from './deposit-address-pool.ts';
import type { MerchantBook } from './merchant-book.ts';
import type { OrderDeps } from './operations/order-deps.ts';
import type { Store } from './store/create-store.ts';

export interface ReadinessDeps {
  readonly store: Store;
  readonly assets: AssetBook;
  readonly merchants: MerchantBook;
  readonly pool: Pick<DepositAddressPool, 'level'>;
  readonly chains: Pick<ChainReadiness, 'isHotWallet'>;
  readonly hotWallets: OrderDeps['hotWallets'];
  /** True while the relay is connected to the broker. Informational: events wait in the database without it. */
  readonly brokerConnected: () => boolean;
}

/** A scanner whose last commit is older, by more than its rest, does not follow its chain. */
const CURSOR_AGE_MAX_SECONDS = 60;
const CHECK_TIMEOUT_MS = 2_000;

/** Checks of this service. A missing payout wallet is informational, since collections do not need it. */
export function apiChecks(deps: ReadinessDeps): Checks {
  const { store, assets, merchants, pool, brokerConnected } = deps;
  return {
    database: async () => {
      await store.readCursorAges();
      return { ok: true };
    },
    registration: async () => {
      const mistakes = await store.findUnregistered();
      const { enabledChains } = assets;
      const ok = enabledChains.length === 0 || enabledChains.some((chain) => !mistakes.has(chain));
      const detail = [...mistakes.values()].map(({ message }) => message).join('; ');
      return { ok, detail: detail === '' ? 'as in the networks file' : detail };
    },
    merchants: () => Promise.resolve({ ok: merchants.loaded && merchants.count > 0 }),
    depositAddresses: () => {
      const without = assets.enabledFamilies.filter((family) => pool.level(family) === 0);
      const detail = without.length === 0 ? 'ready' : `none ready for ${without.join(', ')}`;
      return Promise.resolve({ ok: without.length === 0, detail });
    },
    broker: () =>
      Promise.resolve({ ok: true, detail: brokerConnected() ? 'connected' : 'not connected, events wait' }),
    ...(assets.payoutChains.length === 0
      ? {}
      : { payoutWallets: async () => ({ ...(await payoutWalletsKnown(deps)), ok: true }) }),
  };
}

/**
 * Checks of the whole gateway: this service, every enabled chain, every service that a payment needs, and the signer
 * where payouts are configured. The ops service is informational, since no payment needs it.
 */
export function gatewayChecks(deps: ReadinessDeps): Checks {
  const { store, assets } = deps;
  const present = (schema: Parameters<Store['listPresence']>[0]) => async (): Promise<CheckResult> => {
    const instances = await store.listPresence(schema);
    return { ok: instances.length > 0, detail: `${instances.length} alive` };
  };
  return {
    ...apiChecks(deps),
    chains: async () => {
      const [ages, statuses, mistakes] = await Promise.all([
        store.readCursorAges(),
        store.readChainStatuses(),
        store.findUnregistered(),
      ]);
      const stopped = statuses.filter(
        ({ chain, state }) =>
          assets.enabledChains.includes(chain) && stopsPayouts(state) && !mistakes.has(chain),
      );
      const behind = assets.enabledChains.filter(
        (chain) =>
          !mistakes.has(chain) &&
          stopped.every((one) => one.chain !== chain) &&
          (ages.get(chain) ?? Infinity) > CURSOR_AGE_MAX_SECONDS + assets.restIntervalMs(chain) / 1_000,
      );
      const detail = [
        ...[...mistakes].map(([chain, { code }]) => `${chain} ${code}`),
        ...stopped.map(({ chain, ...status }) => `${chain} ${chainStatusText({ ...status, detail: null })}`),
        ...(behind.length === 0 ? [] : [`waiting for ${behind.join(', ')}`]),
      ].join('; ');
      return { ok: detail === '', detail: detail === '' ? 'followed' : detail };
    },
    scanner: () => scannersPresent(deps),
    tracker: present('tracker'),
    webhookSender: present('webhook'),
    ...(assets.payoutChains.length === 0
      ? {}
      : { payoutWallets: () => payoutWalletsKnown(deps), payoutSigner: present('signer') }),
    ops: async () => ({ ...(await present('ops')()), ok: true }),
  };
}

/** Checks that `opentill setup` has registered the hot wallets that payouts leave from. */
async function payoutWalletsKnown({ assets, chains, hotWallets }: ReadinessDeps): Promise<CheckResult> {
  const unknown: string[] = [];
  for (const family of new Set(assets.payoutChains.map(familyOf))) {
    const [wallet] = hotWallets.get(family) ?? [];
    if (wallet !== undefined && !(await chains.isHotWallet(family, wallet))) unknown.push(family);
  }
  if (unknown.length === 0) return { ok: true, detail: 'known' };
  const detail = `hot wallet of ${unknown.join(', ')} not registered: run opentill setup with PUBLIC_KEYS_FILE and NETWORKS_FILE`;
  return { ok: false, detail };
}

async function scannersPresent({ store, assets }: ReadinessDeps): Promise<CheckResult> {
  const counts = await Promise.all(
    assets.enabledFamilies.map(async (family) => {
      const schema = scannerSchemaOf(family);
      return { family, alive: schema === undefined ? 0 : (await store.listPresence(schema)).length };
    }),
  );
  return {
    ok: counts.every(({ alive }) => alive > 0),
    detail: counts.map(({ family, alive }) => `${family}: ${alive} alive`).join(', '),
  };
}

/** GET /readyz of the public port, in the format of the health ports. */
export async function answerReadiness(checks: Checks): Promise<Answer> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await run(check)] as const),
  );
  const ready = results.every(([, result]) => result.ok);
  const body = { status: ready ? 'ready' : 'not ready', checks: Object.fromEntries(results) };
  return { status: ready ? 200 : 503, body: JSON.stringify(body) };
}

async function run(check: () => Promise<CheckResult>): Promise<CheckResult> {
  try {
    return await withDeadline(
      CHECK_TIMEOUT_MS,
      check,
      () => new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`),
    );
  } catch {
    return { ok: false, detail: 'failed' }; // the public port does not show causes
  }
}
