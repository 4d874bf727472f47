import type { SourceHealth } from '@opentill/chain/source-health';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { CheckFailure } from '@opentill/chain/check-failure';
import { seenBlock, type ChainState } from '../chain-state.ts';
import type { FinalityView } from '../finality-watch.ts';
import type { ScanNetwork } from '../scan-network.ts';

/** Label values of `opentill_scanner_alarm_bool`. */
export const ALARM_KINDS = [
  /** The chain or all sources have stalled: the newest block is older than `headStaleSeconds`. */
  'head-stale',
  'finality-stale',
  /** Verified reads repeatedly contradict each other or the seen blocks. No payment is credited meanwhile. */
  'sources-disagree',
  /** No block was verified for a minute. No payment is credited meanwhile. */
  'verification-failing',
  'source-lagging',
  /** No usable answer for 30 s. */
  'source-down',
  'source-wrong',
  /** All others have failed for long, so its answers are unchecked. */
  'single-source',
  /** An operator paused the chain. Suppresses all other alarms. */
  'paused',
  /** Outcome of an own transaction unknown for a minute: sources differ, or none answers. */
  'fates-waiting',
  /** Payments through the replacement are not seen. */
  'token-replaced',
  /** Transfers and payouts of the token fail. */
  'token-paused',
  /** The seen block is older than the head by more than `headStaleSeconds`. */
  'far-behind',
  /** The fork is below the stored or finalized blocks. The chain halts until an operator decides. */
  'reorg-too-deep',
  /** The nodes serve another network or other tokens than configured. Checked again. */
  'left-out',
  /** Stored blocks and cursor do not match. The chain halts until an operator decides. */
  'stored-chain-broken',
] as const;

export type AlarmKind = (typeof ALARM_KINDS)[number];

export interface ChainCondition {
  readonly network: ScanNetwork;
  readonly state?: ChainState | undefined;
  /** Seconds since 1970. */
  readonly headTimeSeconds: number;
  /** Blocks near the head are left unread on purpose. */
  readonly isLook?: boolean | undefined;
  readonly finality?: FinalityView | undefined;
  readonly halted?: string | undefined;
  /** Only if this process detected the halt. */
  readonly haltDetail?: string | undefined;
  readonly leftOut?: CheckFailure | undefined;
  readonly verifying: { readonly failingSinceMs: number | undefined; readonly contradictionsInRow: number };
  readonly pauseReason?: string | undefined;
  /** Start of the oldest disagreement about an own transaction, and of the current failure to ask about them. */
  readonly fates: {
    readonly waitingSinceMs?: number | undefined;
    readonly failingSinceMs?: number | undefined;
  };
  readonly finalityLag?: { readonly source: string; readonly observedAtMs: number } | undefined;
  readonly sources: readonly SourceHealth[];
  /** Set while the nodes are left unasked; alarms show what was known then. */
  readonly restingSinceMs?: number | undefined;
  /** Length of the last rest until a round succeeds. It makes no head older and no scanner slower. */
  readonly restedMs: number;
  readonly tokenWarnings: readonly TokenWarning[];
}

/** Fewer can come from a reorganisation between two reads. */
const CONTRADICTIONS_MAX = 3;
const FAILING_MS_MAX = 60_000;
/** Sources often fail briefly. */
const FAILING_SECONDS_MAX = 30;
/** An observed finality lag keeps the alarm active for this long. */
const FINALITY_LAG_HOLD_MS = 60_000;

export function alarmsOf(condition: ChainCondition, atMs: number): ReadonlyMap<AlarmKind, string> {
  const nowMs = condition.restingSinceMs ?? atMs;
  if (condition.pauseReason !== undefined) return new Map([['paused', condition.pauseReason]]);
  const alarms = new Map<AlarmKind, string>();
  const judgements = [
    ...(condition.state === undefined ? [] : progressAlarms(condition, condition.state, nowMs)),
    ...haltAlarms(condition),
    ...sourceAlarms(condition, nowMs),
    ...tokenAlarms(condition),
  ];
  for (const [kind, detail] of judgements) {
    if (typeof detail === 'string') alarms.set(kind, detail);
  }
  return alarms;
}

type Judgement = readonly [AlarmKind, string | false | undefined];

function progressAlarms(condition: ChainCondition, state: ChainState, nowMs: number): readonly Judgement[] {
  const { network, finality, verifying, headTimeSeconds, fates, restedMs } = condition;
  const sinceMs = (ms: number | undefined): number => (ms === undefined ? 0 : nowMs - ms);
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  const fatesWaitMs = Math.max(sinceMs(fates.waitingSinceMs), sinceMs(fates.failingSinceMs));
  const failingMs = sinceMs(verifying.failingSinceMs);
  const headAgeSeconds = Math.floor((nowMs - restedMs) / 1_000 - headTimeSeconds);
  const seen = seenBlock(state);
  const behindSeconds = headTimeSeconds - seen.timeSeconds - Math.ceil(restedMs / 1_000);
  const isHeld = state.verifiedHeight < seen.height;
  return [
    ['head-stale', headAgeSeconds > network.headStaleSeconds && `head is ${headAgeSeconds} s old`],
    [
      'finality-stale',
      isHeld && finality?.isStale === true && `finality has not moved for ${seconds(finality.unmovedMs)} s`,
    ],
    [
      'sources-disagree',
      verifying.contradictionsInRow >= CONTRADICTIONS_MAX &&
        `verified reads contradict one another, ${verifying.contradictionsInRow} in a row`,
    ],
    ['verification-failing', failingMs > FAILING_MS_MAX && `no block verified for ${seconds(failingMs)} s`],
    [
      'fates-waiting',
      fatesWaitMs > FAILING_MS_MAX && `outcome of own transactions unknown for ${seconds(fatesWaitMs)} s`,
    ],
    [
      'far-behind',
      condition.isLook !== true &&
        behindSeconds > network.headStaleSeconds &&
        `seen block is ${behindSeconds} s behind the head`,
    ],
  ];
}

function haltAlarms({ halted, haltDetail, leftOut }: ChainCondition): readonly Judgement[] {
  return [
    ['left-out', leftOut && `${leftOut.code}: ${leftOut.detail}`],
    ['reorg-too-deep', halted === 'REORG_TOO_DEEP' && (haltDetail ?? 'the chain forked too deep')],
    [
      'stored-chain-broken',
      halted === 'STORED_CHAIN_BROKEN' && (haltDetail ?? 'the stored blocks are not linked'),
    ],
  ];
}

function sourceAlarms(
  { sources, finalityLag, restedMs }: ChainCondition,
  nowMs: number,
): readonly Judgement[] {
  const namesOf = (is: (source: SourceHealth) => boolean): readonly string[] =>
    sources.filter(is).map((source) => nameOf(source, sources));
  const isWrong = ({ trouble }: SourceHealth): boolean => trouble === 'WRONG_CHAIN' || trouble === 'EXCLUDED';
  const isBehind = ({ trouble }: SourceHealth): boolean => trouble === 'LAGGING' || trouble === 'STUCK';
  const isDown = (source: SourceHealth): boolean =>
    source.failingSinceSeconds !== null &&
    nowMs / 1_000 - source.failingSinceSeconds > FAILING_SECONDS_MAX &&
    !isWrong(source) &&
    !isBehind(source);
  const isFinalityLate =
    finalityLag !== undefined && nowMs - restedMs - finalityLag.observedAtMs <= FINALITY_LAG_HOLD_MS;
  const late = isFinalityLate ? [`finality of ${finalityLag.source}`] : [];
  return [
    ['source-lagging', listed('behind', [...namesOf(isBehind), ...late])],
    ['source-down', listed('down', namesOf(isDown))],
    ['source-wrong', listed('another network or tokens', namesOf(isWrong))],
    [
      'single-source',
      listed(
        'only source left',
        namesOf(({ isSingleSource }) => isSingleSource),
      ),
    ],
  ];
}

function listed(text: string, names: readonly string[]): string | undefined {
  return names.length === 0 ? undefined : `${text}: ${names.join(', ')}`;
}

function tokenAlarms({ network, tokenWarnings }: ChainCondition): readonly Judgement[] {
  const namesOf = (kind: TokenWarning['kind']): readonly string[] =>
    tokenWarnings.flatMap((warning) => {
      if (warning.kind !== kind) return [];
      const symbol = network.symbols.get(warning.contract) ?? warning.contract;
      return warning.kind === 'REPLACED' && warning.by !== undefined ? `${symbol} by ${warning.by}` : symbol;
    });
  return [
    ['token-replaced', listed('replaced by another contract', namesOf('REPLACED'))],
    ['token-paused', listed('paused by its issuer', namesOf('PAUSED'))],
  ];
}

/** Two accounts at one provider share a label; their number in the configuration distinguishes them. */
function nameOf({ label, place }: SourceHealth, sources: readonly SourceHealth[]): string {
  const isShared = sources.some((other) => other.label === label && other.place !== place);
  return isShared ? `${label} (no. ${place + 1})` : label;
}
