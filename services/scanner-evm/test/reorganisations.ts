import { expect, it } from 'vitest';
import { sql } from 'kysely';
import { devAccount } from '@opentill/devnets/evm/accounts';
import { reorg } from '@opentill/devnets/evm/start-evm-devnet';
import { signTransaction } from '@opentill/devnets/evm/transactions';
import { callRpc } from '@opentill/devnets/evm/json-rpc';
import { waitUntil } from '@opentill/testkit/wait-until';
import type { ScannerWorld } from './scanner-harness.ts';

export async function expectAgreement(world: ScannerWorld): Promise<void> {
  await world.caughtUp();
  expect(await world.recorded('DETECTED', 'VERIFIED')).toEqual(await world.paymentsOnChain());
  const { verified } = await world.cursor();
  const onChain = await world.paymentsOnChain();
  expect(await world.recorded('VERIFIED')).toEqual(onChain.filter((payment) => payment.height <= verified));
}

/** One reorganisation per depth. A replica must be scanning the world. */
export function describeReorganisations(worldOf: () => ScannerWorld, depths: readonly number[]): void {
  /** Can be mined in any branch, because its sender has no other transactions. */
  async function rawPayment(
    { anvil, usdt }: ScannerWorld,
    account: number,
    to: string,
    amount: bigint,
  ): Promise<string> {
    const { privateKey } = devAccount(account);
    const data = `0xa9059cbb${to.slice(2).padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`;
    return signTransaction({ rpcUrl: anvil.rpcUrl, fromKey: privateKey, to: usdt, data });
  }
  const send = ({ anvil }: ScannerWorld, raw: string): Promise<string> =>
    callRpc<string>(anvil.rpcUrl, 'eth_sendRawTransaction', [raw]);

  it.each(depths)(
    'follows a reorganisation of depth %i that drops, moves and replaces payments',
    async (depth) => {
      const world = worldOf();
      const [dropped, moved, replaced, kept] = await Promise.all(
        Array.from({ length: 4 }, () => world.newDepositAddress()),
      );
      const amount = BigInt(1_000 + depth);
      await world.pay(kept!, amount, 1);
      await world.mine();
      const rawMoved = await rawPayment(world, 3, moved!, amount);
      const rawReplacement = await rawPayment(world, 4, replaced!, amount + 1n);
      await world.pay(dropped!, amount, 1);
      const movedTx = await send(world, rawMoved);
      await world.pay(replaced!, amount, 4); // the same nonce as the replacement
      await world.mine(depth);
      await world.caughtUp();
      expect(await world.recorded('DETECTED', 'VERIFIED')).toEqual(await world.paymentsOnChain());
      const versionOf = async (): Promise<{ id: string; version: number; firstTime: Date; time: Date }> =>
        (
          await sql<{ id: string; version: number; firstTime: Date; time: Date }>`
            select transfer_id::text as id, version, first_block_time as "firstTime", block_time as time from transfer
            where tx_hash = ${movedTx}`.execute(world.admin.kysely)
        ).rows[0]!;
      const before = await versionOf();
      await world.takeEvents('transfer.orphaned');

      // The moved payment is behind the replacement: in another block, or at another log index of the same block.
      const last = depth - 1;
      await reorg({
        rpcUrl: world.anvil.rpcUrl,
        depth,
        replacements: [
          { rawTransaction: rawReplacement, blockOffset: last },
          { rawTransaction: rawMoved, blockOffset: last },
        ],
      });
      await expectAgreement(world);
      const orphaned = await world.recorded('ORPHANED');
      expect(orphaned.filter((p) => [dropped, replaced].includes(p.to))).toHaveLength(2);
      const after = await versionOf();
      expect(after.id).toBe(before.id);
      expect(after.version).toBeGreaterThan(before.version);
      // The devnet assigns new times to the new branch, which may be earlier.
      expect(after.firstTime.getTime()).toBe(Math.min(before.firstTime.getTime(), after.time.getTime()));
      const orphanedIds: string[] = [];
      await waitUntil('the orphaned transfer is reported', async () => {
        for (const event of await world.takeEvents('transfer.orphaned'))
          orphanedIds.push(...event.data.transferIds);
        return orphanedIds.length >= 2;
      });
      expect(orphanedIds).toHaveLength(2);
      expect(orphanedIds).not.toContain(before.id);
      await world.mine(3);
      await expectAgreement(world);
    },
  );
}
