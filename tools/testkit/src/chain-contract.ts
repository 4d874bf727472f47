import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { BlockHash } from '@opentill/chain/block';
import type { RangeRead } from '@opentill/chain/chain-reader';
import type { CandidateTransfer, Transfer, TxHash } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import type { ChainHarness, ChainTraits, Movement } from './chain-harness.ts';
import { describeFates } from './describe-fates.ts';

/** Creates blocks itself, so it needs exclusive use of the devnet. */
export function describeChainFamily(
  name: string,
  makeHarness: () => Promise<ChainHarness>,
  traits: ChainTraits = {},
): void {
  describe(name, () => {
    let chain: ChainHarness;
    beforeAll(async () => {
      chain = await makeHarness();
    });
    afterAll(() => chain.stop());

    describeAddresses(() => chain);
    describeBlocks(() => chain);
    describeTransfers(() => chain, traits);
    describeReceipts(() => chain);
    describeFates(() => chain, traits);
    if (traits.isFinalAtOnce !== true) describeReorganisations(() => chain);
  });
}

type Get = () => ChainHarness;

async function mined(
  chain: ChainHarness,
  movements: readonly Movement[],
): Promise<{ txHash: TxHash; height: number }> {
  const txHash = await chain.submit(movements);
  return { txHash, height: await chain.mine() };
}

function pays(to: Address, amount: bigint, token: 0 | 1 = 0): Movement {
  return { kind: 'transfer', token, to, amount };
}

function shown(transfers: readonly CandidateTransfer[]): unknown {
  return transfers.map(({ txHash, contract, to, amountBaseUnits }) => ({
    txHash,
    contract,
    to,
    amountBaseUnits,
  }));
}

function describeAddresses(get: Get): void {
  describe('addresses', () => {
    it('parses addresses into their canonical form and formats them', () => {
      const { codec, acceptedAddresses } = get();
      expect(acceptedAddresses.length).toBeGreaterThan(0);
      for (const [text, canonical] of acceptedAddresses) {
        const address = codec.parse(text);
        expect({ text, address }).toEqual({ text, address: canonical });
        expect(codec.parse(codec.format(address!))).toBe(canonical);
        expect(codec.parse(canonical)).toBe(canonical);
        expect(codec.isZero(address!)).toBe(false);
      }
    });

    it('rejects invalid addresses', () => {
      const { codec, refusedAddresses } = get();
      expect(refusedAddresses.length).toBeGreaterThan(3);
      for (const text of [...refusedAddresses, '', ' ', 'x'.repeat(10_000)]) {
        expect({ text, address: codec.parse(text) }).toEqual({ text, address: undefined });
      }
    });

    it('derives addresses only from valid public keys', () => {
      const { codec, keyPair } = get();
      expect(codec.fromPublicKey(keyPair.publicKey)).toBe(keyPair.address);
      for (const bad of [
        keyPair.publicKey.slice(1),
        new Uint8Array(33),
        new Uint8Array(65),
        new Uint8Array(0),
      ]) {
        expect(() => codec.fromPublicKey(bad)).toThrow(TypeError);
      }
    });
  });
}

function describeBlocks(get: Get): void {
  describe('blocks', () => {
    it('reads linked blocks up to the head', async () => {
      const { reader, mine } = get();
      await reader.checkNetwork();
      let last = 0;
      for (let count = 0; count < 45; count += 1) last = await mine();
      const head = await reader.head();
      expect(head.height).toBe(last);
      const headers = await reader.headers(last - 44, last);
      expect(headers.map((header) => header.height)).toEqual(
        Array.from({ length: 45 }, (_, place) => last - 44 + place),
      );
      expect(headers.at(-1)).toEqual(head);
      for (const [place, header] of headers.entries()) {
        if (place > 0) expect(header.parentHash).toBe(headers[place - 1]!.hash);
        expect(Number.isSafeInteger(header.timeSeconds)).toBe(true);
      }
      expect(Math.abs(head.timeSeconds - Date.now() / 1_000)).toBeLessThan(86_400);
    });

    it('reports a final height', async () => {
      const { reader } = get();
      const { height: finalized } = await reader.finalized();
      expect(finalized).toBeGreaterThanOrEqual(0);
      expect(finalized).toBeLessThanOrEqual((await reader.head()).height);
    });

    it('throws beyond the head instead of returning no blocks', async () => {
      const { reader } = get();
      const { height } = await reader.head();
      const beyond = { code: 'BLOCK_NOT_FOUND', retryable: true };
      for (const [from, to] of [
        [height + 1, height + 1],
        [height, height + 1],
        [height - 30, height + 500],
      ] as const) {
        await expect(reader.headers(from, to)).rejects.toMatchObject(beyond);
        await expect(reader.readSeen(from, to)).rejects.toMatchObject(beyond);
        await expect(reader.readVerified(from, to, [])).rejects.toMatchObject(beyond);
      }
    });

    it('rejects a reversed range', async () => {
      await expect(get().reader.readSeen(3, 2)).rejects.toThrow(RangeError);
      await expect(get().reader.headers(-1, 2)).rejects.toThrow(RangeError);
    });

    it('stops reading after an abort', async () => {
      const signal = AbortSignal.abort();
      await expect(get().reader.head({ signal })).rejects.toMatchObject({
        code: 'READ_ABORTED',
        retryable: true,
      });
      await expect(get().reader.readSeen(0, 0, { signal })).rejects.toMatchObject({ code: 'READ_ABORTED' });
    });
  });
}

function contents({ headers, below, transfers }: RangeRead): RangeRead {
  return { headers, ...(below === undefined ? {} : { below }), transfers };
}

function describeTransfers(
  get: Get,
  { recordsNetAmounts = false, largestAmount = 2n ** 256n - 1n }: ChainTraits,
): void {
  /** Reads the range in both passes and requires the same transfers. */
  async function found(from: number, to: number): Promise<RangeRead> {
    const seen = await get().reader.readSeen(from, to);
    await get().settle?.();
    const verified = await get().reader.readVerified(from, to, []);
    expect(contents(verified)).toEqual(contents(seen));
    return seen;
  }

  describe('transfers', () => {
    it('finds every transfer of a transaction, a block and an address exactly once', async () => {
      const { newAddress, submit, mine, tokens } = get();
      const [a, b, c] = [newAddress(), newAddress(), newAddress()];
      const first = await submit([pays(a, 5n), pays(a, 5n), pays(b, 7n, 1)]);
      const much = largestAmount < 10n ** 30n ? largestAmount : 10n ** 30n;
      const second = await submit([pays(c, much)]);
      const height = await mine();
      const read = await found(height, height);
      const toA = (amountBaseUnits: bigint) => ({
        txHash: first,
        contract: tokens[0],
        to: a,
        amountBaseUnits,
      });
      const paid = [
        ...(recordsNetAmounts ? [toA(10n)] : [toA(5n), toA(5n)]),
        { txHash: first, contract: tokens[1], to: b, amountBaseUnits: 7n },
        { txHash: second, contract: tokens[0], to: c, amountBaseUnits: much },
      ];
      // A net amount per transaction has no order within it.
      if (recordsNetAmounts) {
        expect(read.transfers).toHaveLength(paid.length);
        expect(shown(read.transfers)).toEqual(expect.arrayContaining(paid));
      } else expect(shown(read.transfers)).toEqual(paid);
      for (const transfer of read.transfers) {
        expect(transfer).toMatchObject({ blockHash: read.headers[0]!.hash, blockHeight: height });
      }
      expect(new Set(read.transfers.map((transfer) => transfer.indexInBlock)).size).toBe(paid.length);
    });

    it('finds transfers over a long range in their blocks', async () => {
      const { newAddress, mine, submit } = get();
      const to = newAddress();
      const expected: [number, bigint][] = [];
      for (let count = 0; count < 50; count += 1) {
        if (count % 3 === 0) await submit([pays(to, BigInt(count + 1))]);
        const height = await mine();
        if (count % 3 === 0) expected.push([height, BigInt(count + 1)]);
      }
      const last = expected.at(-1)![0];
      const { transfers } = await found(last - 49, last);
      const ours = transfers.filter((transfer) => transfer.to === to);
      expect(ours.map((transfer) => [transfer.blockHeight, transfer.amountBaseUnits])).toEqual(expected);
    });

    it('finds transfers of an address to itself unless net amounts hide them', async () => {
      const self = recordsNetAmounts ? get().nextSender() : get().newAddress();
      const { height } = await mined(get(), [
        { kind: 'transfer', token: 0, from: self, to: self, amount: 3n },
      ]);
      const { transfers } = await found(height, height);
      const itself = { from: self, to: self, amountBaseUnits: 3n };
      expect(transfers).toMatchObject(recordsNetAmounts ? [] : [itself]);
    });

    it('reads the largest amount exactly', async () => {
      const to = get().newAddress();
      const { height } = await mined(get(), [pays(to, largestAmount)]);
      expect((await found(height, height)).transfers).toMatchObject([{ to, amountBaseUnits: largestAmount }]);
    });

    it('ignores zero amounts, other contracts, other events and malformed logs', async () => {
      const { newAddress, movements } = get();
      const to = newAddress();
      const nothing: Movement[] = [
        pays(to, 0n),
        { kind: 'fakeToken', to, amount: 5n },
        { kind: 'malformed', to },
        { kind: 'otherEvent' },
      ];
      const here = nothing.filter((movement) => movements.includes(movement.kind));
      const one = await mined(get(), [...here, pays(to, 1n), ...here]);
      expect((await found(one.height, one.height)).transfers).toMatchObject([{ to, amountBaseUnits: 1n }]);
      const none = await mined(get(), here);
      expect((await found(none.height, none.height)).transfers).toEqual([]);
    });

    it('ignores failed transactions', async () => {
      const { newAddress, submit, mine } = get();
      const to = newAddress();
      await submit([pays(to, 5n)], { fails: true });
      const height = await mine();
      expect((await found(height, height)).transfers).toEqual([]);
    });
  });
}

function describeReceipts(get: Get): void {
  describe('receipts', () => {
    it('proves transfers by receipts with positions, fees and natural keys', async () => {
      const { newAddress, reader, submit, mine } = get();
      const [a, b] = [newAddress(), newAddress()];
      const first = await submit([pays(a, 1n), pays(b, 2n)]);
      const second = await submit([pays(b, 3n), pays(a, 4n)]);
      const height = await mine();
      const { transfers } = await reader.readSeen(height, height);
      const ours = transfers.filter((transfer) => transfer.to === a);
      const { confirmed, refuted } = await reader.confirmTransfers(ours);
      expect(refuted).toEqual([]);
      expect(confirmed.map((transfer) => [transfer.txHash, transfer.amountBaseUnits])).toEqual([
        [first, 1n],
        [second, 4n],
      ]);
      const all = await reader.confirmTransfers(transfers);
      const places = all.confirmed.map((transfer) => `${transfer.txHash} ${transfer.position}`);
      expect(new Set(places).size).toBe(4);
      for (const transfer of all.confirmed) {
        expect(transfer.chain).toBe(reader.chain);
        expect(transfer.feeBaseUnits).toBeGreaterThan(0n);
        expect(transfer.position).toMatch(/^\S+$/);
      }
    });

    it('refutes transfers that no transaction made', async () => {
      const { newAddress, reader } = get();
      const to = newAddress();
      const { height } = await mined(get(), [pays(to, 1n)]);
      const [real] = (await reader.readSeen(height, height)).transfers;
      const lies: CandidateTransfer[] = [
        { ...real!, amountBaseUnits: baseUnits(2n) },
        { ...real!, to: newAddress() },
        { ...real!, contract: get().tokens[1] },
        { ...real!, indexInBlock: real!.indexInBlock + 1_000 },
      ];
      const { confirmed, refuted } = await reader.confirmTransfers([...lies, real!]);
      expect(confirmed).toMatchObject([{ to, amountBaseUnits: 1n }]);
      expect(refuted).toEqual(lies);
    });

    it('does not use receipts of another block', async () => {
      const { newAddress, reader } = get();
      const { height } = await mined(get(), [pays(newAddress(), 1n)]);
      const headers = await reader.headers(height - 1, height);
      const { transfers } = await reader.readSeen(height - 1, height);
      const moved = { ...transfers.at(-1)!, blockHash: headers[0]!.hash, blockHeight: height - 1 };
      await expect(reader.confirmTransfers([moved])).rejects.toMatchObject({
        code: 'INCONSISTENT_ANSWER',
        retryable: true,
      });
    });

    it('reads no receipts without candidates', async () => {
      expect(await get().reader.confirmTransfers([])).toEqual({ confirmed: [], refuted: [] });
    });
  });
}

function describeReorganisations(get: Get): void {
  const reorg = async (depth: number): Promise<void> => get().reorg?.(depth);

  async function paid(
    movements: readonly Movement[],
  ): Promise<{ txHash: TxHash; height: number; proven: readonly Transfer[] }> {
    const { txHash, height } = await mined(get(), movements);
    const { reader } = get();
    const { transfers } = await reader.readSeen(height, height);
    const { confirmed } = await reader.confirmTransfers(
      transfers.filter((transfer) => transfer.txHash === txHash),
    );
    return { txHash, height, proven: confirmed };
  }

  describe('reorganisations', () => {
    it('shows a reorganisation by hashes and removes its transfers', async () => {
      const { newAddress, reader, mine } = get();
      const { height, proven } = await paid([pays(newAddress(), 1n)]);
      await mine();
      const before = await reader.headers(height - 1, height + 1);
      await reorg(2);
      const after = await reader.readSeen(height - 1, height + 1);
      const headers = await reader.headers(height - 1, height + 1);
      expect(headers[0]).toEqual(before[0]);
      expect(headers[1]!.hash).not.toBe(before[1]!.hash);
      expect(after.headers.at(-1)).toEqual(headers[2]);
      expect(headers[2]!.hash).not.toBe(before[2]!.hash);
      const above = await reader.readSeen(height, height + 1);
      expect(above.below ?? above.headers[0]!.parentHash).toBe(before[0]!.hash);
      expect(after.transfers.filter((transfer) => transfer.blockHeight >= height)).toEqual([]);
      await expect(reader.confirmTransfers(proven)).rejects.toMatchObject({
        code: 'BLOCK_NOT_FOUND',
        retryable: true,
      });
      await get().settle?.();
      // The caller reverts transfers of the lost branch; they must not make the new branch unreadable.
      expect((await reader.readVerified(height, height + 1, proven)).transfers).toEqual([]);
    });

    it('keeps natural keys when a reorganisation moves a transaction in its block', async () => {
      const { newAddress, reader, resubmit, submit, mine } = get();
      const [a, b] = [newAddress(), newAddress()];
      const before = await paid([pays(b, 1n), pays(a, 2n)]);
      await reorg(1);
      await submit([pays(b, 9n), pays(b, 9n), pays(b, 9n)]);
      await resubmit(before.txHash);
      const height = await mine();
      const { transfers } = await reader.readSeen(height, height);
      const { confirmed } = await reader.confirmTransfers(
        transfers.filter((transfer) => transfer.txHash === before.txHash),
      );
      const keys = (proven: readonly Transfer[]): unknown =>
        proven.map(({ txHash, position, to, amountBaseUnits }) => ({
          txHash,
          position,
          to,
          amountBaseUnits,
        }));
      expect(confirmed).toHaveLength(2);
      expect(keys(confirmed)).toEqual(keys(before.proven));
      expect(confirmed.map((transfer) => transfer.indexInBlock)).not.toEqual(
        before.proven.map((transfer) => transfer.indexInBlock),
      );
      const hashes = (proven: readonly Transfer[]): BlockHash[] =>
        proven.map((transfer) => transfer.blockHash);
      expect(hashes(confirmed)).not.toEqual(hashes(before.proven));
    });
  });
}
