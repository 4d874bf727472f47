import { describe, expect, it } from 'vitest';
import type { FatesRead, OwnTransaction } from '@opentill/chain/own-transaction';
import type { TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import type { ChainHarness, ChainTraits, Movement } from './chain-harness.ts';

export function describeFates(get: () => ChainHarness, { isFinalAtOnce = false }: ChainTraits): void {
  /** Requires the same result from one source and from two. */
  async function fatesOf(own: readonly OwnTransaction[]): Promise<FatesRead> {
    const { reader } = get();
    const read = await reader.readFates(own);
    expect(await reader.readFates(own, { byOneSource: true })).toEqual(read);
    return read;
  }

  function intended(): { readonly intent: Omit<OwnTransaction, 'txHash'>; readonly movement: Movement } {
    const { nextSender, newAddress, tokens } = get();
    const [from, to] = [nextSender(), newAddress()];
    return {
      intent: { from, contract: tokens[0], to, amountBaseUnits: baseUnits(7n) },
      movement: { kind: 'transfer', token: 0, from, to, amount: 7n },
    };
  }

  describe('own transactions', () => {
    it('reports the amount of the intended token that reached the receiver', async () => {
      const { submit, mine, newAddress, reader } = get();
      const { intent, movement } = intended();
      const { from, to } = intent;
      const txHash = await submit([
        movement,
        { kind: 'transfer', token: 0, from, to: newAddress(), amount: 5n },
        { kind: 'transfer', token: 0, from: newAddress(), to, amount: 11n },
        { kind: 'transfer', token: 1, from, to, amount: 9n },
      ]);
      const height = await mine();
      const [header] = await reader.headers(height, height);
      const { fates, disputed } = await fatesOf([{ ...intent, txHash }]);
      expect(fates).toMatchObject([
        { txHash, blockHeight: height, blockHash: header!.hash, succeeded: true, deliveredBaseUnits: 7n },
      ]);
      expect(fates[0]!.feeBaseUnits).toBeGreaterThan(0n);
      expect(disputed).toEqual([]);
    });

    it('reports fees and no delivery for failed transactions', async () => {
      const { submit, mine } = get();
      const { intent, movement } = intended();
      const txHash = await submit([movement], { fails: true });
      await mine();
      const { fates } = await fatesOf([{ ...intent, txHash }]);
      expect(fates).toMatchObject([{ txHash, succeeded: false, deliveredBaseUnits: 0n }]);
      expect(fates[0]!.feeBaseUnits).toBeGreaterThan(0n);
    });

    it('disputes a named transaction that another wallet sent', async () => {
      const { submit, mine, newAddress, tokens } = get();
      const [others, to] = [newAddress(), newAddress()];
      const named: OwnTransaction[] = [];
      for (const fails of [false, true]) {
        const txHash = await submit([{ kind: 'transfer', token: 1, to, amount: 3n }], { fails });
        for (const contract of [tokens[0], null])
          named.push({ txHash, from: others, contract, to, amountBaseUnits: baseUnits(7n) });
      }
      await mine();
      for (const own of named) {
        const { fates, disputed } = await fatesOf([own]);
        expect({ fates, disputed }).toEqual({ fates: [], disputed: [own.txHash] });
      }
    });

    it('reports no outcome before a block, and the same one after a resubmission', async () => {
      const { submit, resubmit, mine } = get();
      const { intent, movement } = intended();
      const own = { ...intent, txHash: await submit([movement]) };
      expect(await fatesOf([own])).toEqual({ fates: [], disputed: [] });
      await mine();
      const { fates } = await fatesOf([own]);
      expect(fates).toMatchObject([{ succeeded: true, deliveredBaseUnits: 7n }]);
      if (!isFinalAtOnce) return;
      await resubmit(own.txHash);
      await mine();
      expect(await fatesOf([own])).toEqual({ fates, disputed: [] });
    });

    if (!isFinalAtOnce)
      it('finds transactions where a reorganisation moved them', async () => {
        const { submit, resubmit, mine, reorg } = get();
        const { intent, movement } = intended();
        const own = { ...intent, txHash: await submit([movement]) };
        expect(await fatesOf([own])).toEqual({ fates: [], disputed: [] });
        await mine();
        const [before] = (await fatesOf([own])).fates;
        await reorg?.(1);
        expect(await fatesOf([own])).toEqual({ fates: [], disputed: [] });
        await resubmit(own.txHash);
        const height = await mine();
        const [after] = (await fatesOf([own])).fates;
        expect(after).toMatchObject({ blockHeight: height, succeeded: true, deliveredBaseUnits: 7n });
        expect(after!.blockHash).not.toBe(before!.blockHash);
      });

    it('reads outcomes only at a block that the node has', async () => {
      const { submit, mine, reader } = get();
      const { intent, movement } = intended();
      const own = { ...intent, txHash: await submit([movement]) };
      const height = await mine();
      expect((await reader.readFates([own], { atHeight: height })).fates).toHaveLength(1);
      await expect(reader.readFates([own], { atHeight: height + 1 })).rejects.toMatchObject({
        code: 'BLOCK_NOT_FOUND',
        retryable: true,
      });
      const unknown = {
        ...own,
        txHash: own.txHash.replace(/.$/, (last) => (last === '0' ? '1' : '0')) as TxHash,
      };
      expect(await fatesOf([unknown])).toEqual({ fates: [], disputed: [] });
    });
  });
}
