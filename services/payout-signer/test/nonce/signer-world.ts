import { sql } from 'kysely';
import { evmFamily } from '@opentill/chain-evm/family';
import { createEvmSender } from '@opentill/chain-evm/sender/create-sender';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { payoutTermsOf } from '@opentill/contracts/payout-terms';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { startAnvil } from '@opentill/devnets/evm/anvil';
import {
  DEV_TOKEN_ADDRESSES,
  deployDevTokens,
  headHeight,
  mine,
  payNative,
  payToken,
  setBlockTime,
  tokenBalance,
} from '@opentill/devnets/evm/start-evm-devnet';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { findFreePort } from '@opentill/test-servers/free-port';
import { evmDevnetNetwork } from '@opentill/testkit/devnet-networks';
import { anEvmAddress, type OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { NoncePaying } from '../../src/payouts/paying-network.ts';
import * as core from '../world/create-world.ts';
import { TIMEOUT_MS, QUICK } from '../world/quick-timing.ts';
import { CODECS, PASSPHRASE } from '../world/test-keys.ts';

export const CHAIN = 'ETH_SEPOLIA';
const CHAIN_ID = 11_155_111;
export const ONE_ETH = 10n ** 18n;
export const USDT = DEV_TOKEN_ADDRESSES.USDT.toLowerCase();
const HELD = { USDT: 1_000_000_000_000n, ETH: 100n * ONE_ETH };

const UNSEEN_BLOCKS_MAX = 3;

export { PASSPHRASE, QUICK };
export type DriverOptions = core.DriverOptions<NoncePaying>;
export type RunningDriver = core.RunningDriver;
export type SignerWorld = Awaited<ReturnType<typeof createSignerWorld>>;

type Decision =
  | { readonly decision: 'PAY_AGAIN'; readonly nonce: number }
  | { readonly decision: 'PAID_BY'; readonly txHash: string };

/** `given` overrides the network's configuration; a function receives the node's URL. */
export async function createSignerWorld(
  given: Partial<NetworkConfig> | ((rpcUrl: string) => Promise<Partial<NetworkConfig>>) = {},
) {
  const world = await core.createWorld('EVM', async ({ keys, wallet }, dir) => {
    const anvil = await startAnvil({ dir, port: await findFreePort(), chainId: CHAIN_ID });
    const { rpcUrl } = anvil;
    await setBlockTime(rpcUrl, 0);
    await deployDevTokens({ rpcUrl, usdtDecimals: 6, usdcDecimals: 6 });
    const fromKey = devAccount(1).privateKey;
    await payNative({ rpcUrl, fromKey, to: wallet, amountWei: HELD.ETH });
    await payToken({ rpcUrl, token: USDT, fromKey, to: wallet, amountBaseUnits: HELD.USDT });
    await mine({ rpcUrl, blocks: 5 });
    const network = networkOf(rpcUrl, typeof given === 'function' ? await given(rpcUrl) : given);
    return {
      rpcUrl,
      network,
      held: HELD,
      token: { symbol: 'USDT', contract_address: USDT, decimals: 6 },
      newAddress: anEvmAddress,
      reader: evmFamily.createReader(network, {}),
      openPaying: (): NoncePaying => ({
        kind: 'NONCES',
        network,
        terms: payoutTermsOf(network)!,
        codec: CODECS.EVM,
        sender: createEvmSender(network, { backend: keys }),
        reader: evmFamily.createReader(network, {}),
      }),
      close: () => anvil.stop('kill'),
    };
  });
  const { admin, wallet } = world;
  const { rpcUrl } = world.chain;
  const unseenBlocks = async (): Promise<number> => {
    const head = await headHeight(rpcUrl);
    const { rows } = await sql<{ seen: number }>`
      select seen_height as seen from chain_cursor where chain = ${CHAIN}`.execute(admin);
    return head - (rows[0]?.seen ?? 0);
  };
  const mineBlocks = async (blocks = 1) => {
    await mine({ rpcUrl, blocks });
    world.wakeScanner();
  };
  const scannerAtHead = () =>
    waitUntil('the scanner is at the head', async () => {
      if ((await unseenBlocks()) === 0) return true;
      world.wakeScanner();
      return false;
    });
  /** No faster than the scanner reads. */
  const mineUntil = (
    what: string,
    condition: () => Promise<boolean | 'WAIT'>,
    timeoutMs = TIMEOUT_MS,
  ): Promise<void> =>
    waitUntil(
      what,
      async () => {
        const is = await condition();
        if (is === true) return true;
        if (is === false && (await unseenBlocks()) < UNSEEN_BLOCKS_MAX) await mineBlocks();
        await new Promise((resolve) => setTimeout(resolve, 40));
        return false;
      },
      timeoutMs,
    );
  await scannerAtHead();
  return {
    ...world,
    walletKey: `0x${world.walletKey}`,
    rpcUrl,
    start: (options: DriverOptions = {}) => Promise.resolve(world.drive(options)),
    mine: mineBlocks,
    mineUntil,
    scannerAtHead,
    async noncesOf(order: OrderRow) {
      const { rows } = await sql<{ nonce: number; state: string }>`
        select nonce, state from wallet_nonce where order_pk = ${order.order_pk} order by nonce`.execute(
        admin,
      );
      return rows;
    },
    async transactionsOf(order: OrderRow) {
      const { rows } = await sql<{
        tx_hash: string;
        nonce: number;
        send_outcome: string | null;
        fate: string | null;
      }>`
        select t.tx_hash, t.nonce, t.send_outcome, f.state as fate
        from own_transaction t left join own_transaction_fate f using (chain, tx_hash)
        where t.order_pk = ${order.order_pk} order by t.signed_at`.execute(admin);
      return rows;
    },
    async decide(order: OrderRow, decision: Decision) {
      const [nonce, txHash] = 'nonce' in decision ? [decision.nonce, null] : [null, decision.txHash];
      await sql`insert into payout_decision (decision_id, order_pk, nonce, decision, tx_hash, operator, reason)
        values (gen_random_uuid(), ${order.order_pk}, ${nonce}, ${decision.decision}, ${txHash}, 'test', 'looked')`.execute(
        admin,
      );
    },
    async decisionsOf(order: OrderRow) {
      const { rows } = await sql<{ outcome: string | null; detail: string | null }>`
        select outcome, detail from payout_decision where order_pk = ${order.order_pk} order by decided_at`.execute(
        admin,
      );
      return rows;
    },
    async nonces() {
      const { rows } = await sql<{ nonce: number; state: string; order_pk: string | null; purpose: string }>`
        select nonce, state, order_pk, purpose from wallet_nonce where wallet = ${wallet} order by nonce`.execute(
        admin,
      );
      return rows;
    },
    /** Mines only the blocks that the payouts need. With more, a slow signer finds them beyond any reorganisation. */
    land: (orders: readonly OrderRow[], timeoutMs?: number) =>
      mineUntil(
        'every payout is final',
        async () => {
          // A payout that is mined before the signer records the send stays recorded as not sent.
          const { rows } = await sql<{ open: number; unproven: number; unsent: number }>`
            select count(*) filter (where not is_final)::int as open, count(*) filter (where not is_proven)::int as unproven,
              count(*) filter (where is_unsent)::int as unsent
            from (select
                p.state = 'SIGNED' and p.first_sent_at is null and not exists (select from own_transaction t
                  join own_transaction_fate f using (chain, tx_hash) where t.order_pk = p.order_pk) as is_unsent,
                exists (select from wallet_nonce w where w.order_pk = p.order_pk and w.state = 'FINAL') as is_final,
                exists (select from own_transaction t join own_transaction_fate f using (chain, tx_hash)
                  where t.order_pk = p.order_pk and f.state = 'VERIFIED') as is_proven
              from payout p where p.order_pk = any(${orders.map((o) => o.order_pk)}::uuid[])) as o`.execute(
            admin,
          );
          const { open, unproven, unsent } = rows[0]!;
          if (open === 0) return true;
          return unsent === 0 && unproven > 0 ? false : 'WAIT';
        },
        timeoutMs,
      ),
    received: (order: Pick<OrderRow, 'contract_address' | 'address'>): Promise<bigint> =>
      order.contract_address === null
        ? callRpc<string>(rpcUrl, 'eth_getBalance', [order.address, 'latest']).then(BigInt)
        : tokenBalance(rpcUrl, order.contract_address, order.address),
  };
}

export function networkOf(rpcUrl: string, overrides: Partial<NetworkConfig> = {}): NetworkConfig {
  const { wsUrl: _, ...network } = evmDevnetNetwork(
    { rpcUrl, wsUrl: '' },
    { chain: CHAIN, chainId: CHAIN_ID },
  );
  const [usdt] = network.tokens;
  return {
    ...network,
    confirmations: 2,
    pollIntervalMs: 100,
    restIntervalMs: 100, // never rests
    maxBlockRange: 50,
    tokens: [usdt!, { ...usdt!, symbol: 'ETH', contract: null, decimals: 18 }],
    payouts: {
      maxOpenNonces: 16,
      minPriorityFeePerGas: '1000000',
      maxPriorityFeePerGas: '10000000000',
      maxFeePerGas: '500000000000',
      bumpAfterSeconds: 60,
    },
    ...overrides,
  };
}
