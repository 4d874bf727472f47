import { sql } from 'kysely';
import { DEPLOYER_INDEX, devAccount } from '@opentill/devnets/evm/accounts';
import { callContract, DEV_TOKEN_ADDRESSES } from '@opentill/devnets/evm/start-evm-devnet';
import { waitForReceipt } from '@opentill/devnets/evm/transactions';
import type { OrderRow } from '@opentill/testkit/scenario';
import { waitUntil } from '@opentill/testkit/wait-until';
import { CHAIN } from '../nonce/signer-world.ts';
import type { SweepWorld } from './sweep-world.ts';

export interface HeldAssets {
  issuer(method: string, ...methodArguments: readonly unknown[]): Promise<void>;
  isDone(order: OrderRow, times?: number): Promise<boolean>;
  /** Kinds and account states of an address's movements, oldest first. */
  moves(order: OrderRow): Promise<readonly string[]>;
  waiting(): Promise<Readonly<Record<string, number>>>;
  obstaclesOf(order: OrderRow): Promise<readonly (string | null)[]>;
  /** Ends the time of unsigned movements, and the following pause. */
  passTimeOf(order: OrderRow): Promise<void>;
  /** Mines no blocks. */
  waitForMove(order: OrderRow, move: string): Promise<void>;
  /** Mines blocks until planners have read the current chain this many times. */
  rounds(count: number): Promise<void>;
}

export function watchHeldAssets(world: () => SweepWorld): HeldAssets {
  const admin = () => world().admin;
  const plannedAt = async () => {
    const { rows } = await sql<{ at: string }>`
      select planned_at::text as at from sweep_plan where chain = ${CHAIN}`.execute(admin());
    return rows[0]?.at;
  };
  const held: HeldAssets = {
    async issuer(method, ...methodArguments) {
      const { rpcUrl, mine } = world().signer;
      const txHash = await callContract({
        rpcUrl,
        fromKey: devAccount(DEPLOYER_INDEX).privateKey,
        contract: 'UsdcLike',
        address: DEV_TOKEN_ADDRESSES.USDC,
        method,
        methodArguments,
      });
      await mine();
      await waitForReceipt(rpcUrl, txHash);
    },
    isDone: async (order, times = 1) =>
      (await world().sweepsOf(order)).filter(({ state }) => state === 'DONE').length === times,
    moves: async (order) => (await world().movesOf(order)).map(({ kind, money }) => `${kind} ${money}`),
    async waiting() {
      const { rows } = await sql<{ waiting: Record<string, number> }>`
        select plan -> 'waiting' as waiting from sweep_plan where chain = ${CHAIN}`.execute(admin());
      return rows[0]?.waiting ?? {};
    },
    async obstaclesOf({ address }) {
      const { rows } = await sql<{ obstacle: string | null }>`
        select p.obstacle from sweep s join movement m using (sweep_id) join payout p using (order_pk)
        where s.address = ${address} and m.kind = 'SWEEP' order by m.created_at`.execute(admin());
      return rows.map(({ obstacle }) => obstacle);
    },
    async passTimeOf({ address }) {
      await sql`update payout set expires_at = now() - interval '1 second'
        where wallet = ${address} and state in ('REQUESTED', 'AUTHORISED')`.execute(admin());
      await sql`select expire_payouts(array(select order_pk from payout where wallet = ${address}))`.execute(
        admin(),
      );
      await sql`update payout set updated_at = now() - interval '1 hour' where wallet = ${address} and state = 'EXPIRED'`.execute(
        admin(),
      );
    },
    waitForMove: (order, move) =>
      waitUntil(`${move} is the newest`, async () => (await held.moves(order)).at(-1) === move),
    async rounds(count) {
      const { signer, mineUntil } = world();
      for (let round = 0; round < count; round += 1) {
        await signer.mine();
        await signer.scannerAtHead();
        const before = await plannedAt();
        await mineUntil('a planner plans', async () => (await plannedAt()) !== before);
      }
    },
  };
  return held;
}
