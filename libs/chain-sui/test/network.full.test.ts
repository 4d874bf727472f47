import { afterEach, describe, expect, it } from 'vitest';
import type { TokenContract } from '@opentill/chain/transfer';
import { createSuiStateReader } from '../src/read-state.ts';
import type { SourceDefect } from '../src/check-network.ts';
import { createSuiReader } from '../src/reader.ts';
import { makeSuiHarness, networkOf, newAddress, type SuiHarness } from './sui-harness.ts';

let chain: SuiHarness;
afterEach(() => chain.stop());

async function paid(count: number): Promise<{ readonly from: number; readonly to: number }> {
  const heights: number[] = [];
  for (let left = count; left > 0; left -= 1) {
    await chain.submit([{ kind: 'transfer', token: 0, to: newAddress(), amount: 5n }]);
    heights.push(await chain.mine());
  }
  return { from: heights[0]!, to: heights.at(-1)! };
}

describe('checkNetwork', () => {
  it('fails if all nodes serve another chain and leaves out a single such node', async () => {
    chain = await makeSuiHarness();
    const genesisId = '4btiuiMPvEENsttpZC7CZ53DruC3MAgfznDbASZ7DR6S';
    const reader = createSuiReader({ ...chain.network, genesisId });
    await expect(reader.checkNetwork()).rejects.toMatchObject({ code: 'WRONG_CHAIN', retryable: false });
    const other = await makeSuiHarness({}, {}, { seed: 'another chain' });
    try {
      const findings: SourceDefect[] = [];
      const rpcUrls = [other.devnet.url, chain.devnet.url];
      const both = createSuiReader(
        { ...chain.network, rpcUrls },
        { onFinding: (finding) => findings.push(finding) },
      );
      await both.checkNetwork();
      expect(findings).toMatchObject([{ kind: 'WRONG' }]);
      expect(await both.head()).toEqual(await chain.reader.head());
    } finally {
      await other.stop();
    }
  });

  it('rejects a token that is not a coin or has other decimals', async () => {
    chain = await makeSuiHarness();
    const [token] = chain.network.tokens;
    for (const wrong of [{ decimals: 9 }, { contract: token!.contract!.replace('usdc', 'usdx') }]) {
      const reader = createSuiReader({ ...chain.network, tokens: [{ ...token!, ...wrong }] });
      await expect(reader.checkNetwork()).rejects.toMatchObject({ code: 'TOKEN_MISMATCH' });
    }
    expect(() => createSuiReader({ ...chain.network, tokens: [{ ...token!, contract: 'usdc' }] })).toThrow(
      TypeError,
    );
    const { genesisId: _, ...nameless } = chain.network;
    expect(() => createSuiReader(nameless)).toThrow(TypeError);
  });

  it('reports a node without balance changes, from which no payment is read', async () => {
    chain = await makeSuiHarness();
    await paid(1);
    chain.devnet.control.fault({ kind: 'no-balance-changes' });
    const findings: SourceDefect[] = [];
    const reader = createSuiReader(chain.network, { onFinding: (finding) => findings.push(finding) });
    await reader.checkNetwork();
    expect(findings).toMatchObject([{ kind: 'BALANCE_CHANGES_MISSING' }]);
    await expect(reader.readSeen(1, chain.devnet.control.summary().checkpoint)).rejects.toMatchObject({
      code: 'INCONSISTENT_ANSWER',
      retryable: true,
    });
  });
});

describe('a reader with an archive', () => {
  it('reads checkpoints that the other node has pruned', async () => {
    chain = await makeSuiHarness();
    const range = await paid(12);
    const whole = await chain.reader.readSeen(range.from, range.to);
    const archive = await chain.devnet.control.openNode();
    archive.fault({ kind: 'no-history' });
    archive.fault({ kind: 'no-balance-changes', method: 'GetCheckpoint' });
    chain.devnet.control.prune(range.to);
    await expect(chain.reader.readSeen(range.from, range.to)).rejects.toMatchObject({
      code: 'BLOCK_NOT_FOUND',
      message: expect.stringContaining(`has pruned checkpoints below ${range.to}`),
    });
    const reader = createSuiReader({
      ...networkOf(chain.devnet),
      rpcUrls: [chain.devnet.url, archive.url],
    });
    expect(await reader.readSeen(range.from, range.to)).toEqual(whole);
    expect(whole.transfers).toHaveLength(12);
    await archive.close();
  });
});

describe('a reader with two nodes', () => {
  it('reads all payments although one node limits, cuts or refuses requests', async () => {
    chain = await makeSuiHarness();
    const range = await paid(6);
    const whole = await chain.reader.readSeen(range.from, range.to);
    const other = await chain.devnet.control.openNode();
    const reader = createSuiReader({ ...chain.network, rpcUrls: [other.url, chain.devnet.url] });
    for (const fault of [
      { kind: 'rate-limit', perSecond: 1 },
      { kind: 'cut', times: 2 },
      { kind: 'status', code: 'UNAVAILABLE', times: 2 },
      { kind: 'status', code: 'UNIMPLEMENTED', method: 'ListCheckpoints' },
    ] as const) {
      other.fault(fault);
      expect(await reader.readSeen(range.from, range.to)).toEqual(whole);
      other.clearFaults();
    }
    await other.close();
  });

  it('verifies no checkpoint while two nodes return different payments', async () => {
    chain = await makeSuiHarness();
    const other = await chain.devnet.control.openNode();
    const reader = createSuiReader({ ...chain.network, rpcUrls: [chain.devnet.url, other.url] });
    const to = newAddress();
    await chain.submit([{ kind: 'transfer', token: 0, to, amount: 5n }]);
    const height = await chain.mine();
    const faults = [
      { kind: 'hide-payments', address: to },
      {
        kind: 'invent-payment',
        checkpoint: height,
        address: newAddress(),
        coinType: chain.tokens[0],
        amountBaseUnits: 7n,
      },
      { kind: 'fork', fromCheckpoint: height },
    ] as const;
    for (const fault of faults) {
      other.fault(fault);
      await expect(reader.readVerified(height, height, [])).rejects.toMatchObject({
        code: 'INCONSISTENT_ANSWER',
        retryable: true,
      });
      other.clearFaults();
      expect((await reader.readVerified(height, height, [])).transfers).toMatchObject([
        { to, amountBaseUnits: 5n },
      ]);
    }
    await other.close();
  });

  it('returns balances as the sum of coins and address balance', async () => {
    chain = await makeSuiHarness();
    const holder = newAddress();
    await chain.devnet.control.fund(holder, { symbol: 'USDC', amountBaseUnits: 5n });
    await chain.devnet.control.fund(holder, { symbol: 'USDC', amountBaseUnits: 7n, form: 'address' });
    const other = await chain.devnet.control.openNode();
    const state = createSuiStateReader({ ...chain.network, rpcUrls: [chain.devnet.url, other.url] });
    const contracts: readonly (TokenContract | null)[] = [chain.tokens[0], chain.tokens[1], null];
    expect(await state.balances(contracts.map((contract) => ({ holder, contract })))).toEqual([
      { kind: 'AGREED', value: 12n },
      { kind: 'AGREED', value: 0n },
      { kind: 'AGREED', value: 0n },
    ]);
    await other.close();
  });
});
