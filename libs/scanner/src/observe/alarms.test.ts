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
      restIntervalMs: 30_000,
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
    restedMs: 0,
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
  isSingleSource: false,
  score: 1,
  headLagBlocks: 0,
  lastErrorCode: null,
});

const kinds = (of: ChainCondition, afterMs = 0): readonly string[] => [
  ...alarmsOf(of, HEAD_AT_MS + afterMs).keys(),
];

describe('alarmsOf', () => {
  it('returns only `paused` for a paused chain', () => {
    const paused = condition({ pauseReason: 'the node is moved', halted: 'REORG_TOO_DEEP' });
    expect([...alarmsOf(paused, HEAD_AT_MS + 999_000)]).toEqual([['paused', 'the node is moved']]);
  });

  it('raises the waiting alarm when sources differ on own transactions or none answers', () => {
    const since = HEAD_AT_MS - 50_000;
    const waiting = condition({ fates: { waitingSinceMs: since, failingSinceMs: undefined } });
    expect(kinds(waiting, 10_000)).toEqual([]);
    expect([...alarmsOf(waiting, HEAD_AT_MS + 11_000)]).toEqual([
      ['fates-waiting', 'outcome of own transactions unknown for 61 s'],
    ]);
    const failing = condition({ fates: { waitingSinceMs: undefined, failingSinceMs: since } });
    expect(kinds(failing, 10_000)).toEqual([]);
    expect(kinds(failing, 11_000)).toEqual(['fates-waiting']);
  });

  it('returns no alarm for a healthy chain', () => {
    expect(kinds(condition({ sources: [source(null, null)] }), 45_999)).toEqual([]);
  });

  it('raises head-stale when the head is too old', () => {
    expect([...alarmsOf(condition(), HEAD_AT_MS + 46_000)]).toEqual([['head-stale', 'head is 46 s old']]);
  });

  it('judges a resting chain by the moment at which its rest began', () => {
    const rests = { restingSinceMs: HEAD_AT_MS + 2_000, sources: [source('RESTING', HEAD.timeSeconds)] };
    expect(kinds(condition(rests), 60_000)).toEqual([]);
    const stale = { restingSinceMs: HEAD_AT_MS + 46_000 };
    expect(kinds(condition(stale), 60_000)).toEqual(['head-stale']);
  });

  it('counts no time of the rest before a round', () => {
    const lag = { finalityLag: { source: 'a', observedAtMs: HEAD_AT_MS } };
    expect(kinds(condition({ restedMs: 60_000, ...lag }), 105_999)).toEqual(['source-lagging']);
    expect(kinds(condition({ restedMs: 60_000 }), 106_000)).toEqual(['head-stale']);
    const named = { headTimeSeconds: HEAD.timeSeconds + 105, restedMs: 60_000 };
    expect(kinds(condition(named), 106_000)).toEqual([]);
    expect(kinds(condition({ ...named, restedMs: 59_000 }), 106_000)).toEqual(['far-behind']);
  });

  it('raises finality-stale only while blocks wait for finality', () => {
    const finality = { unmovedMs: 31_000, isStale: true };
    expect(kinds(condition({ finality }))).toEqual(['finality-stale']);
    const { state } = condition();
    expect(kinds(condition({ finality, state: { ...state!, verifiedHeight: 100 } }))).toEqual([]);
  });

  it('raises sources-disagree after three contradictions in a row', () => {
    const verifying = { failingSinceMs: HEAD_AT_MS, contradictionsInRow: 2 };
    expect(kinds(condition({ verifying }))).toEqual([]);
    expect(kinds(condition({ verifying: { ...verifying, contradictionsInRow: 3 } }))).toEqual([
      'sources-disagree',
    ]);
  });

  it('raises verification-failing after a minute of failures', () => {
    const failing = condition({
      headTimeSeconds: HEAD.timeSeconds + 60,
      verifying: { failingSinceMs: HEAD_AT_MS, contradictionsInRow: 0 },
    });
    expect(kinds(failing, 60_000)).not.toContain('verification-failing');
    expect(kinds(failing, 60_001)).toContain('verification-failing');
  });

  it('raises far-behind when the seen block is too old', () => {
    expect(kinds(condition({ headTimeSeconds: HEAD.timeSeconds + 46 }))).toEqual(['far-behind']);
  });

  it('raises source alarms by kind of trouble, source-down only after 30 s', () => {
    const ailing = [source('LAGGING'), source('STUCK'), source('WRONG_CHAIN'), source('EXCLUDED')];
    const sources = [...ailing, source(null)];
    expect([...alarmsOf(condition({ sources }), HEAD_AT_MS + 30_000)]).toEqual([
      ['source-lagging', 'behind: node-LAGGING, node-STUCK'],
      ['source-wrong', 'another network or tokens: node-WRONG_CHAIN, node-EXCLUDED'],
    ]);
    expect(alarmsOf(condition({ sources }), HEAD_AT_MS + 30_001).get('source-down')).toBe('down: node-well');
    const finalityLag = { source: 'node-late', observedAtMs: HEAD_AT_MS - 60_000 };
    expect([...alarmsOf(condition({ finalityLag }), HEAD_AT_MS)]).toEqual([
      ['source-lagging', 'behind: finality of node-late'],
    ]);
    expect(kinds(condition({ finalityLag }), 1)).toEqual([]);
  });

  it('numbers sources that share a label and names the single source', () => {
    const twins = [
      { ...source(null, null), isSingleSource: true },
      { ...source('RESTING'), label: 'node-well', place: 1 },
    ];
    expect([...alarmsOf(condition({ sources: twins }), HEAD_AT_MS + 31_000)]).toEqual([
      ['source-down', 'down: node-well (no. 2)'],
      ['single-source', 'only source left: node-well (no. 1)'],
    ]);
  });

  it('raises token-replaced and token-paused with the token symbols', () => {
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

  it('raises the halt alarm even if the state cannot be loaded', () => {
    expect(kinds(condition({ halted: 'REORG_TOO_DEEP' }))).toEqual(['reorg-too-deep']);
    expect(kinds(condition({ halted: 'STORED_CHAIN_BROKEN', state: undefined }))).toEqual([
      'stored-chain-broken',
    ]);
  });
});
