import type { SourceHealth } from '@opentill/chain/source-health';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { CheckFailure } from '@opentill/chain/check-failure';
import { seenBlock, type ChainState } from '../chain-state.ts';
import type { FinalityView } from '../finality-watch.ts';
import type { ScanNetwork } from '../scan-network.ts';

/** What somebody has to look at; label values of the metric `scanner_alarm`. */
export const ALARM_KINDS = [
  /** The newest block is older than the network allows: the chain stands still, or all sources do. */
  'head-stale',
  /** What the chain calls final has not moved for longer than the network allows. */
  'finality-stale',
  /** The verified read contradicts itself or the seen blocks again and again: nothing is credited meanwhile. */
  'sources-disagree',
  /** The verified pass has failed for a minute, for whatever reason: nothing is credited meanwhile. */
  'verification-failing',
  /** A source hangs behind the others. */
  'source-lagging',
  /** A source has given no usable answer for a while. */
  'source-down',
  /** A source serves another network, or tokens that are none there. */
  'source-wrong',
  /** One source of several is believed alone, since the others have failed for long: what it says is compared with nothing. */
  'single-source',
  /** An operator has paused the chain: nothing is read, nothing credited, nothing expires. The only alarm then. */
  'paused',
  /** Nobody could say for a minute what became of an own transaction: sources differ on it, or none answers. */
  'fates-waiting',
  /** A token's contract says that another one has taken its place: payments through that one are not seen. */
  'token-replaced',
  /** A token's contract says that it is paused: nobody can pay with it, and no payout of it succeeds. */
  'token-paused',
  /** What is seen is older than the head by more than an old head would be allowed. */
  'far-behind',
  /** The chain forked below what is stored or final: it stands still until an operator decides. */
  'reorg-too-deep',
  /** The nodes serve another network, or other tokens than configured: the chain is left out and checked again. */
  'left-out',
  /** The stored blocks and the cursor don't fit together: the chain stands still until an operator decides. */
  'stored-chain-broken',
] as const;

export type AlarmKind = (typeof ALARM_KINDS)[number];

/** What is known of a chain that this replica scans, for judging it at any moment. */
export interface ChainCondition {
  readonly network: ScanNetwork;
  /** Undefined while it cannot be loaded. */
  readonly state?: ChainState | undefined;
  /** Time of the newest block that any head named, in seconds since 1970. */
  readonly headTimeSeconds: number;
  readonly finality?: FinalityView | undefined;
  /** Error code of the halt, while the chain is halted. */
  readonly halted?: string | undefined;
  /** Message of the halt, where this process found it. */
  readonly haltDetail?: string | undefined;
  /** Failed start-up check, while the chain is left out for it. */
  readonly leftOut?: CheckFailure | undefined;
  /** Since when every verified pass failed, and how often its answers contradicted one another in a row. */
  readonly verifying: { readonly failingSinceMs: number | undefined; readonly contradictionsInRow: number };
  /** Why an operator has paused the chain, while it is paused. */
  readonly pauseReason?: string | undefined;
  /** Since when sources differ on an own transaction, and since when own transactions could not be asked about. */
  readonly fates: {
    readonly waitingSinceMs?: number | undefined;
    readonly failingSinceMs?: number | undefined;
  };
  /** A source whose finality was behind another's when it was asked last, and when that was. */
  readonly finalityLag?: { readonly source: string; readonly toldAtMs: number } | undefined;
  readonly sources: readonly SourceHealth[];
  /** The last answers of the tokens' contracts. */
  readonly tokenWarnings: readonly TokenWarning[];
}

/** So many in a row are not a reorganisation between two reads any more. */
const CONTRADICTIONS_MAX = 3;
const FAILING_MS_MAX = 60_000;
/** Sources fail for moments all the time. */
const FAILING_SECONDS_MAX = 30;
/** What was told of a source's finality holds so long. */
const FINALITY_LAG_TOLD_MS = 60_000;

/** The alarms that hold now, each with its figure for a human. */
export function alarmsOf(condition: ChainCondition, nowMs: number): ReadonlyMap<AlarmKind, string> {
  if (condition.pauseReason !== undefined) return new Map([['paused', condition.pauseReason]]);
  const alarms = new Map<AlarmKind, string>();
  const judgements = [
    ...(condition.state === undefined ? [] : progressAlarms(condition, condition.state, nowMs)),
    ...haltAlarms(condition),
    ...sourceAlarms(condition, nowMs),
    ...tokenAlarms(condition),
  ];
  for (const [kind, detail] of judgements) {
    if (detail !== undefined) alarms.set(kind, detail);
  }
  return alarms;
}

type Judgement = readonly [AlarmKind, string | undefined];

function progressAlarms(condition: ChainCondition, state: ChainState, nowMs: number): readonly Judgement[] {
  const { network, finality, verifying, headTimeSeconds, fates } = condition;
  const fatesWaitMs = Math.max(
    ...[fates.waitingSinceMs, fates.failingSinceMs].map((ms) => nowMs - (ms ?? nowMs)),
  );
  const headAgeSeconds = Math.floor(nowMs / 1_000 - headTimeSeconds);
  const seen = seenBlock(state);
  const behindSeconds = headTimeSeconds - seen.timeSeconds;
  const failingMs = verifying.failingSinceMs === undefined ? 0 : nowMs - verifying.failingSinceMs;
  const isHeld = state.verifiedHeight < seen.height;
  return [
    ['head-stale', when(headAgeSeconds > network.headStaleSeconds, `head is ${headAgeSeconds} s old`)],
    [
      'finality-stale',
      when(
        isHeld && finality?.isStale === true,
        `finality has not moved for ${Math.floor((finality?.unmovedMs ?? 0) / 1_000)} s`,
      ),
    ],
    [
      'sources-disagree',
      when(
        verifying.contradictionsInRow >= CONTRADICTIONS_MAX,
        `verified reads contradict one another, ${verifying.contradictionsInRow} in a row`,
      ),
    ],
    [
      'verification-failing',
      when(failingMs > FAILING_MS_MAX, `nothing verified for ${Math.floor(failingMs / 1_000)} s`),
    ],
    [
      'fates-waiting',
      when(fatesWaitMs > FAILING_MS_MAX, `own transactions unknown for ${Math.floor(fatesWaitMs / 1_000)} s`),
    ],
    ['far-behind', when(behindSeconds > network.headStaleSeconds, `seen ${behindSeconds} s behind the head`)],
  ];
}

function haltAlarms({ halted, haltDetail, leftOut }: ChainCondition): readonly Judgement[] {
  return [
    ['left-out', leftOut && `${leftOut.code}: ${leftOut.detail}`],
    ['reorg-too-deep', when(halted === 'REORG_TOO_DEEP', haltDetail ?? 'the chain forked too deep')],
    [
      'stored-chain-broken',
      when(halted === 'STORED_CHAIN_BROKEN', haltDetail ?? 'the stored blocks are not a chain'),
    ],
  ];
}

function sourceAlarms({ sources, finalityLag }: ChainCondition, nowMs: number): readonly Judgement[] {
  const told = (text: string, is: (source: SourceHealth) => boolean): string | undefined => {
    const names = sources.filter(is).map((source) => nameOf(source, sources));
    return names.length === 0 ? undefined : `${text}: ${names.join(', ')}`;
  };
  const isWrong = ({ trouble }: SourceHealth): boolean => trouble === 'WRONG_CHAIN' || trouble === 'EXCLUDED';
  const isBehind = ({ trouble }: SourceHealth): boolean => trouble === 'LAGGING' || trouble === 'STUCK';
  const isDown = (source: SourceHealth): boolean =>
    source.failingSinceSeconds !== null &&
    nowMs / 1_000 - source.failingSinceSeconds > FAILING_SECONDS_MAX &&
    !isWrong(source) &&
    !isBehind(source);
  const isFinalityLate = finalityLag !== undefined && nowMs - finalityLag.toldAtMs <= FINALITY_LAG_TOLD_MS;
  const late = isFinalityLate ? `finality of ${finalityLag.source}` : undefined;
  const behind = told('behind', isBehind);
  return [
    [
      'source-lagging',
      behind === undefined ? late && `behind: ${late}` : [behind, late ?? []].flat().join(', '),
    ],
    ['source-down', told('down', isDown)],
    ['source-wrong', told('another network or tokens', isWrong)],
    ['single-source', told('believed alone', ({ isAlone }) => isAlone)],
  ];
}

function tokenAlarms({ network, tokenWarnings }: ChainCondition): readonly Judgement[] {
  const told = (kind: TokenWarning['kind'], text: string): string | undefined => {
    const names = tokenWarnings
      .filter((warning) => warning.kind === kind)
      .map((warning) => {
        const symbol = network.symbols.get(warning.contract) ?? warning.contract;
        return warning.kind === 'REPLACED' && warning.by !== undefined
          ? `${symbol} by ${warning.by}`
          : symbol;
      });
    return names.length === 0 ? undefined : `${text}: ${names.join(', ')}`;
  };
  return [
    ['token-replaced', told('REPLACED', 'replaced by another contract')],
    ['token-paused', told('PAUSED', 'paused by its issuer')],
  ];
}

/** Two accounts at one provider have one label: then the place in the configuration tells which. */
function nameOf({ label, place }: SourceHealth, sources: readonly SourceHealth[]): string {
  const isShared = sources.some((other) => other.label === label && other.place !== place);
  return isShared ? `${label} (no. ${place + 1})` : label;
}

function when(holds: boolean, detail: string): string | undefined {
  return holds ? detail : undefined;
}
