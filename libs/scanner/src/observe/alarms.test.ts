import { describe, expect, it } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { SourceHealth } from '@opentill/chain/source-health';
import type { TokenContract } from '@opentill/chain/transfer';
import { buildChain } from '../../test/build-chain.ts';
import { alarmsOf, type ChainCondition } from './alarms.ts';

const BLOCKS = buildChain({ to: 100 });
const HEAD = BLOCKS.at(-1)!;
const HEAD_AT_MS = HEAD.timeSeconds * 1_000;

function condition(partial: Partial<ChainCondition> = {}): ChainCondition {
  return {
    network: {
      chain: 'BSC',
      family: 'EVM',
      confirmations: 'finalized',
      finality: { staleSeconds: 30 },
      blockTimeMs: 450,
      headStaleSeconds: 45,
      symbols: new Map(),
      pollIntervalMs: 1_000,
      reorgWindow: 64,
      maxBlockRange: 20,
    },
    state: { head: HEAD, finalizedHeight: 98, verifiedHeight: 98, blocks: BLOCKS },
    headTimeSeconds: HEAD.timeSeconds,
    finality: { unmovedMs: 0, isStale: false },
    halted: undefined,
    verifying: { failingSinceMs: undefined, contradictionsInRow: 0 },
    pauseReason: undefined,
    fates: { waitingSinceMs: undefined, failingSinceMs: undefined },
    finalityLag: undefined,
    sources: [],
    tokenWarnings: [],
    ...partial,
  };
}

const source = (
  trouble: SourceHealth['trouble'],
  failingSinceSeconds: number | null = HEAD.timeSeconds,
): SourceHealth => ({
  place: 0,
  label: `node-${trouble ?? 'well'}`,
  usable: trouble === null,
  trouble,
  failingSinceSeconds,
  isAlone: false,
  score: 1,
  headLagBlocks: 0,
  lastErrorCode: null,
});

const kinds = (of: ChainCondition, afterMs = 0): readonly string[] => [
  ...alarmsOf(of, HEAD_AT_MS + afterMs).keys(),
];

describe('the alarms of a chain', () => {
  it('say nothing of a paused chain but that it is', () => {
    const paused = condition({ pauseReason: 'the node is moved', halted: 'REORG_TOO_DEEP' });
    expect([...alarmsOf(paused, HEAD_AT_MS + 999_000)]).toEqual([['paused', 'the node is moved']]);
  });

  it('tell of own transactions on which sources differ, or that nobody answers for', () => {
    const since = HEAD_AT_MS - 50_000;
    const waiting = condition({ fates: { waitingSinceMs: since, failingSinceMs: undefined } });
    expect(kinds(waiting, 10_000)).toEqual([]);
    expect([...alarmsOf(waiting, HEAD_AT_MS + 11_000)]).toEqual([
      ['fates-waiting', 'own transactions unknown for 61 s'],
    ]);
    const failing = condition({ fates: { waitingSinceMs: undefined, failingSinceMs: since } });
    expect(kinds(failing, 10_000)).toEqual([]);
    expect(kinds(failing, 11_000)).toEqual(['fates-waiting']);
  });

  it('are none while all is well', () => {
    expect(kinds(condition({ sources: [source(null, null)] }), 45_999)).toEqual([]);
  });

  it('tell of a head that is too old by the clock', () => {
    expect([...alarmsOf(condition(), HEAD_AT_MS + 46_000)]).toEqual([['head-stale', 'head is 46 s old']]);
  });

  it('tell of finality that does not move while blocks wait for it', () => {
    const finality = { unmovedMs: 31_000, isStale: true };
    expect(kinds(condition({ finality }))).toEqual(['finality-stale']);
    const { state } = condition();
    expect(kinds(condition({ finality, state: { ...state!, verifiedHeight: 100 } }))).toEqual([]);
  });

  it('tell of contradictions that are no passing reorganisation', () => {
    const verifying = { failingSinceMs: HEAD_AT_MS, contradictionsInRow: 2 };
    expect(kinds(condition({ verifying }))).toEqual([]);
    expect(kinds(condition({ verifying: { ...verifying, contradictionsInRow: 3 } }))).toEqual([
      'sources-disagree',
    ]);
  });

  it('tell of verified reads that fail for a minute', () => {
    const failing = condition({
      headTimeSeconds: HEAD.timeSeconds + 60,
      verifying: { failingSinceMs: HEAD_AT_MS, contradictionsInRow: 0 },
    });
    expect(kinds(failing, 60_000)).not.toContain('verification-failing');
    expect(kinds(failing, 60_001)).toContain('verification-failing');
  });

  it('tell of a cursor that is far behind the head', () => {
    expect(kinds(condition({ headTimeSeconds: HEAD.timeSeconds + 46 }))).toEqual(['far-behind']);
  });

  it('tell of sources by what ails them, of a failing one only when it fails long, rests or not', () => {
    const ailing = [source('LAGGING'), source('STUCK'), source('WRONG_CHAIN'), source('EXCLUDED')];
    const sources = [...ailing, source(null)];
    expect([...alarmsOf(condition({ sources }), HEAD_AT_MS + 30_000)]).toEqual([
      ['source-lagging', 'behind: node-LAGGING, node-STUCK'],
      ['source-wrong', 'another network or tokens: node-WRONG_CHAIN, node-EXCLUDED'],
    ]);
    expect(alarmsOf(condition({ sources }), HEAD_AT_MS + 30_001).get('source-down')).toBe('down: node-well');
    const finalityLag = { source: 'node-late', toldAtMs: HEAD_AT_MS - 60_000 };
    expect([...alarmsOf(condition({ finalityLag }), HEAD_AT_MS)]).toEqual([
      ['source-lagging', 'behind: finality of node-late'],
    ]);
    expect(kinds(condition({ finalityLag }), 1)).toEqual([]);
  });

  it('tell sources of one label apart, and of the one that is believed alone', () => {
    const twins = [
      { ...source(null, null), isAlone: true },
      { ...source('RESTING'), label: 'node-well', place: 1 },
    ];
    expect([...alarmsOf(condition({ sources: twins }), HEAD_AT_MS + 31_000)]).toEqual([
      ['source-down', 'down: node-well (no. 2)'],
      ['single-source', 'believed alone: node-well (no. 1)'],
    ]);
  });

  it('tell of tokens whose contracts were replaced or paused, by their symbols', () => {
    const [usdt, usdc] = ['0xusdt', '0xusdc'] as unknown as readonly TokenContract[];
    const { network } = condition();
    const symbols = new Map([
      [usdt!, 'USDT'],
      [usdc!, 'USDC'],
    ]);
    const tokenWarnings = [
      { kind: 'PAUSED', contract: usdt! },
      { kind: 'REPLACED', contract: usdt!, by: '0xnew' as Address },
      { kind: 'REPLACED', contract: usdc!, by: undefined },
    ] as const;
    const warned = condition({ network: { ...network, symbols }, tokenWarnings });
    expect([...alarmsOf(warned, HEAD_AT_MS)]).toEqual([
      ['token-replaced', 'replaced by another contract: USDT by 0xnew, USDC'],
      ['token-paused', 'paused by its issuer: USDT'],
    ]);
  });

  it('tell why a chain stands still, also when its state could not be loaded', () => {
    expect(kinds(condition({ halted: 'REORG_TOO_DEEP' }))).toEqual(['reorg-too-deep']);
    expect(kinds(condition({ halted: 'STORED_CHAIN_BROKEN', state: undefined }))).toEqual([
      'stored-chain-broken',
    ]);
  });
});
