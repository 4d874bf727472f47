import { randomBytes, randomUUID } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import { addressOfShortHex, shortHexOf } from '@opentill/chain-tron/address-codec';
import { tronFamily } from '@opentill/chain-tron/family';
import { createTronSender } from '@opentill/chain-tron/sender/create-sender';
import type { TronPayoutsConfig } from '@opentill/contracts/network-config';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { startTronDevnet } from '@opentill/devnets/tron/start-tron-devnet';
import { TRON_DEVNET_PAYOUTS, tronDevnetNetwork } from '@opentill/testkit/devnet-networks';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ExpiringPaying } from '../../src/payouts/paying-network.ts';
import * as core from '../world/create-world.ts';
import { TIMEOUT_MS } from '../world/quick-timing.ts';
import { readAttempts } from '../world/read-attempts.ts';
import { CODECS } from '../world/test-keys.ts';

export const CHAIN = 'TRON_TEST';
export const ONE_TRX = 1_000_000n;
export const ONE_USDT = 1_000_000n;
const SOLID_LAG_BLOCKS = 3;
const MINE_ANYWAY_MS = 2_000;

export type DriverOptions = core.DriverOptions<ExpiringPaying>;
export type RunningDriver = core.RunningDriver;
export type TronWorld = Awaited<ReturnType<typeof createTronWorld>>;

/** One TRON node. Blocks come on request, 3 s of chain time apart. */
export async function createTronWorld(
  payouts: Partial<TronPayoutsConfig> = {},
  {
    trxSun = 10_000n * ONE_TRX,
    usdt = 1_000_000n * ONE_USDT,
  }: { readonly trxSun?: bigint; readonly usdt?: bigint } = {},
  sources: (url: string) => Promise<readonly string[]> = (url) => Promise.resolve([url]),
) {
  const passes = { count: 0, minedAfter: -1, minedAtMs: 0 };
  const world = await core.createWorld('TRON', async ({ keys, wallet }) => {
    const devnet = await startTronDevnet({
      blockTimeMs: 0,
      solidLagBlocks: SOLID_LAG_BLOCKS,
      seed: `signer ${randomUUID()}`,
    });
    await devnet.control.fund(wallet, { trxSun, symbol: 'USDT', amountBaseUnits: usdt });
    await devnet.control.mine(SOLID_LAG_BLOCKS + 1);
    const network = tronDevnetNetwork(devnet, {
      rpcUrls: await sources(devnet.url),
      pollIntervalMs: 100,
      restIntervalMs: 100,
      payouts: { ...TRON_DEVNET_PAYOUTS, ...payouts },
    });
    return {
      devnet,
      network,
      held: { USDT: usdt, TRX: trxSun },
      token: { symbol: 'USDT', contract_address: devnet.tokens.USDT, decimals: 6 },
      newAddress: aTronAddress,
      reader: tronFamily.createReader(network, {}),
      openPaying(): ExpiringPaying {
        const sender = createTronSender(network, { backend: keys });
        const { blockKeys } = sender;
        if (blockKeys === undefined) throw new Error('no block keys');
        return {
          kind: 'EXPIRING',
          network,
          terms: tronPayoutTermsOf(network)!,
          codec: CODECS.TRON,
          sender: {
            ...sender,
            blockKeys: {
              newBlockKeys(options) {
                passes.count += 1;
                return blockKeys.newBlockKeys(options);
              },
            },
          },
        };
      },
      close: () => devnet.close(),
    };
  });
  const { devnet } = world.chain;
  const attempts = readAttempts(world.admin);
  const scannerAtHead = () =>
    world.untilCursor('the scanner is at the head', ({ seen, verified }) => {
      const { head, solid } = devnet.control.summary();
      return seen === head && verified === solid;
    });
  const mine = async (blocks = 1) => {
    await devnet.control.mine(blocks);
    world.wakeScanner();
    await scannerAtHead();
  };
  /** Mines one block per pass of the signer: with more, a slow signer's transactions expire before they are sent. */
  const mineUntil = (what: string, isSo: () => Promise<boolean>, timeoutMs = TIMEOUT_MS): Promise<void> =>
    waitUntil(
      what,
      async () => {
        if (await isSo()) return true;
        const isOverdue = performance.now() - passes.minedAtMs > MINE_ANYWAY_MS;
        if (world.isRunning() && passes.count === passes.minedAfter && !isOverdue) return false;
        passes.minedAfter = passes.count;
        await mine();
        passes.minedAtMs = performance.now();
        return false;
      },
      timeoutMs,
    );
  await scannerAtHead();
  return {
    ...world,
    ...attempts,
    devnet,
    usdt: devnet.tokens.USDT,
    start: (options: DriverOptions = {}) => Promise.resolve(world.drive(options)),
    mine,
    mineUntil,
    scannerAtHead,
    land: (orders: readonly OrderRow[], timeoutMs?: number) =>
      mineUntil(
        'every payout is settled',
        async () => (await attempts.countUnsettled(orders)) === 0,
        timeoutMs,
      ),
    passExpiry: () =>
      mine(Math.ceil({ ...TRON_DEVNET_PAYOUTS, ...payouts }.expirationSeconds / 3) + SOLID_LAG_BLOCKS + 2),
    async received({
      contract_address: contract,
      address,
    }: Pick<OrderRow, 'contract_address' | 'address'>): Promise<bigint> {
      if (contract === null) {
        const account = await post<{ balance?: number }>(devnet.url, 'getaccount', {
          address,
          visible: true,
        });
        return BigInt(account.balance ?? 0);
      }
      const answer = await post<{ constant_result: string[] }>(devnet.url, 'triggerconstantcontract', {
        owner_address: devnet.accounts[0]!.address,
        contract_address: contract,
        function_selector: 'balanceOf(address)',
        parameter: shortHexOf(address as Address).padStart(64, '0'),
        visible: true,
      });
      return BigInt(`0x${answer.constant_result[0]}`);
    },
  };
}

export function aTronAddress(): string {
  return addressOfShortHex(randomBytes(20).toString('hex'))!;
}

export async function post<T>(url: string, method: string, body: object): Promise<T> {
  const answer = await fetch(`${url}/wallet/${method}`, { method: 'POST', body: JSON.stringify(body) });
  return (await answer.json()) as T;
}
