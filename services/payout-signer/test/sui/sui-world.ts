import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { GrpcWebFetchTransport, SuiGrpcClient } from '@mysten/sui/grpc';
import type { Address } from '@opentill/chain/address-codec';
import { parseCoinType } from '@opentill/chain-sui/coin-type';
import { suiFamily } from '@opentill/chain-sui/family';
import { createSuiSender } from '@opentill/chain-sui/sender/create-sender';
import type { SuiPayoutsConfig } from '@opentill/contracts/network-config';
import { suiPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { startSuiDevnet, type DevTokenSymbol } from '@opentill/devnets/sui/start-sui-devnet';
import { SUI_DEVNET_PAYOUTS, suiDevnetNetwork } from '@opentill/testkit/devnet-networks';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { sealPolicy } from '@opentill/wallet/policy/sealed-policy';
import type { ExpiringPaying } from '../../src/payouts/paying-network.ts';
import { createWorld } from '../world/create-world.ts';
import { readAttempts } from '../world/read-attempts.ts';
import type { RunningService, ServiceOptions } from '../world/start-service.ts';
import { openSweepParts } from '../world/sweep-parts.ts';
import { CODECS, PASSPHRASE } from '../world/test-keys.ts';
import { policyText, type TestPolicy } from '../world/test-policy.ts';

export const ONE_SUI = 10n ** 9n;
export const ONE_USDC = 1_000_000n;
export const SUI_TYPE = `0x${'2'.padStart(64, '0')}::sui::SUI`;
/** Its private key is unknown. */
export const COLD = `0x${'c01d'.repeat(16)}` as Address;
const SWEEP = { nativePrice: '1', maxTopUp: '0.1', maxNativePerDay: '100' };
const HELD = { USDC: 1_000_000n * ONE_USDC, USDT: 1_000_000n * ONE_USDC };

export interface SignerOptions extends ServiceOptions<ExpiringPaying> {
  readonly sweep?: TestPolicy['sweep'];
}
export type RunningSigner = RunningService;
export type SuiWorld = Awaited<ReturnType<typeof createSuiWorld>>;

export async function createSuiWorld(
  payouts: Partial<SuiPayoutsConfig> = {},
  { nodes = 1 }: { readonly nodes?: 1 | 2 } = {},
) {
  const held = { ...HELD, SUI: 1_000n * ONE_SUI };
  const world = await createWorld('SUI', async ({ keys, wallet }) => {
    const devnet = await startSuiDevnet({ checkpointMs: 100, seed: `signer ${randomUUID()}` });
    for (const symbol of ['USDC', 'USDT'] as const)
      await devnet.control.fund(wallet, { symbol, amountBaseUnits: held[symbol], form: 'address' });
    await devnet.control.fund(wallet, { mist: held.SUI, form: 'address' });
    const other = nodes === 2 ? await devnet.control.openNode() : undefined;
    const network = suiDevnetNetwork(devnet, {
      rpcUrls: [devnet.url, ...(other === undefined ? [] : [other.url])],
      confirmations: 1,
      payouts: { ...SUI_DEVNET_PAYOUTS, maxOpenPayouts: 300, ...payouts },
    });
    return {
      devnet,
      other,
      network,
      held,
      token: { symbol: 'USDC', contract_address: devnet.tokens.USDC, decimals: 6 },
      newAddress: aSuiAddress,
      reader: suiFamily.createReader(network, {}),
      canonicalContract: parseCoinType,
      openPaying: (isGasless = true): ExpiringPaying => ({
        kind: 'EXPIRING',
        network,
        terms: suiPayoutTermsOf(network)!,
        codec: CODECS.SUI,
        sender: createSuiSender(network, { backend: keys, gasless: isGasless }),
      }),
      close: () => devnet.close(),
    };
  });
  const { admin, network, dir, keys } = world;
  const { devnet, other } = world.chain;
  const attempts = readAttempts(admin);
  const { closeBooks, ...parts } = await openSweepParts(world);
  const client = new SuiGrpcClient({
    network: 'localnet',
    transport: new GrpcWebFetchTransport({ baseUrl: devnet.url, format: 'binary' }),
  });
  const heldBy = async (owner: string, coinType = SUI_TYPE): Promise<bigint> =>
    BigInt((await client.getBalance({ owner, coinType })).balance.balance);
  const policyOf = (sweep: SignerOptions['sweep'] = null): TestPolicy => ({
    coldAddress: COLD,
    sweep: sweep && { ...SWEEP, ...sweep },
    symbols: network.tokens.map(({ symbol }) => symbol),
    // Dozens of attempts expire, and no operator decides about the third.
    more: { maxAttemptsWithoutDecision: 100 },
  });
  await world.untilCursor('the scanner has begun', ({ epoch }) => epoch !== null);
  return {
    ...world,
    ...attempts,
    ...parts,
    devnet,
    other,
    client,
    async paidMany(
      amounts: readonly bigint[],
      symbol: DevTokenSymbol | 'SUI' = 'USDC',
      form: 'coin' | 'address' | 'party' = 'coin',
    ): Promise<readonly OrderRow[]> {
      const orders: OrderRow[] = [];
      for (const amount of amounts) {
        const order = await parts.orderFor(symbol);
        const gift = symbol === 'SUI' ? { mist: amount } : { symbol, amountBaseUnits: amount };
        await devnet.control.fund(order.address, { ...gift, form });
        orders.push(order);
      }
      await waitUntil('all payments are booked', async () =>
        (await Promise.all(orders.map(parts.receivedAt))).every((received) => received > 0n),
      );
      return orders;
    },
    start: ({ sweep, ...options }: SignerOptions = {}) =>
      world.serve({ ...options, policy: policyOf(sweep) }),
    async sealPolicy(sweep: NonNullable<SignerOptions['sweep']>): Promise<string> {
      const policyFile = join(dir, 'policy.sealed.json');
      await sealPolicy({
        policyFile,
        passphrase: PASSPHRASE,
        fingerprint: keys.fingerprint,
        networks: [network],
        codecs: [CODECS.SUI],
        text: policyText(network, policyOf(sweep)),
        now: new Date(),
      });
      return policyFile;
    },
    land: (orders: readonly OrderRow[], timeoutMs?: number) =>
      waitUntil(
        'every payout is settled',
        async () => (await attempts.countUnsettled(orders)) === 0,
        timeoutMs,
      ),
    /** Waits until the scanner has verified a checkpoint of the next epoch. */
    async passEpoch() {
      const next = devnet.control.advanceEpoch().epoch;
      if (devnet.control.summary().epoch !== next) throw new Error('no next epoch');
      await world.untilCursor('the epoch is over', ({ epoch }) => epoch === next);
    },
    heldBy,
    received: ({ contract_address: contract, address }: Pick<OrderRow, 'contract_address' | 'address'>) =>
      heldBy(address, contract ?? SUI_TYPE),
    async close() {
      await world.stopAll();
      await closeBooks();
      await world.close();
    },
  };
}

export function aSuiAddress(): string {
  return `0x${randomBytes(32).toString('hex')}`;
}
