import type { SourceHealth } from '@opentill/chain/source-health';
import type { TokenWarning } from '@opentill/chain/token-warning';
import type { CheckFailure } from '@opentill/chain/check-failure';
import { seenBlock, type ChainState } from '../chain-state.ts';
import type { FinalityView } from '../finality-watch.ts';
import type { ScanNetwork } from '../scan-network.ts';

/** What somebody has to look at; label values of the metric `opentill_scanner_alarm_bool`. */
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
    if (typeof detail === 'string') alarms.set(kind, detail);
  }
  return alarms;
}

/** The detail for the operator, while the alarm holds. */
type Judgement = readonly [AlarmKind, string | false | undefined];

function progressAlarms(condition: ChainCondition, state: ChainState, nowMs: number): readonly Judgement[] {
  const { network, finality, verifying, headTimeSeconds, fates } = condition;
  const sinceMs = (ms: number | undefined): number => (ms === undefined ? 0 : nowMs - ms);
  const seconds = (ms: number): number => Math.floor(ms / 1_000);
  const fatesWaitMs = Math.max(sinceMs(fates.waitingSinceMs), sinceMs(fates.failingSinceMs));
  const failingMs = sinceMs(verifying.failingSinceMs);
  const headAgeSeconds = Math.floor(nowMs / 1_000 - headTimeSeconds);
  const seen = seenBlock(state);
  const behindSeconds = headTimeSeconds - seen.timeSeconds;
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
    ['verification-failing', failingMs > FAILING_MS_MAX && `nothing verified for ${seconds(failingMs)} s`],
    [
      'fates-waiting',
      fatesWaitMs > FAILING_MS_MAX && `own transactions unknown for ${seconds(fatesWaitMs)} s`,
    ],
    ['far-behind', behindSeconds > network.headStaleSeconds && `seen ${behindSeconds} s behind the head`],
  ];
}

function haltAlarms({ halted, haltDetail, leftOut }: ChainCondition): readonly Judgement[] {
  return [
    ['left-out', leftOut && `${leftOut.code}: ${leftOut.detail}`],
    ['reorg-too-deep', halted === 'REORG_TOO_DEEP' && (haltDetail ?? 'the chain forked too deep')],
    [
      'stored-chain-broken',
      halted === 'STORED_CHAIN_BROKEN' && (haltDetail ?? 'the stored blocks are not a chain'),
    ],
  ];
}

function sourceAlarms({ sources, finalityLag }: ChainCondition, nowMs: number): readonly Judgement[] {
  const namesOf = (is: (source: SourceHealth) => boolean): readonly string[] =>
    sources.filter(is).map((source) => nameOf(source, sources));
  const isWrong = ({ trouble }: SourceHealth): boolean => trouble === 'WRONG_CHAIN' || trouble === 'EXCLUDED';
  const isBehind = ({ trouble }: SourceHealth): boolean => trouble === 'LAGGING' || trouble === 'STUCK';
  const isDown = (source: SourceHealth): boolean =>
    source.failingSinceSeconds !== null &&
    nowMs / 1_000 - source.failingSinceSeconds > FAILING_SECONDS_MAX &&
    !isWrong(source) &&
    !isBehind(source);
  const isFinalityLate = finalityLag !== undefined && nowMs - finalityLag.toldAtMs <= FINALITY_LAG_TOLD_MS;
  const late = isFinalityLate ? [`finality of ${finalityLag.source}`] : [];
  return [
    ['source-lagging', listed('behind', [...namesOf(isBehind), ...late])],
    ['source-down', listed('down', namesOf(isDown))],
    ['source-wrong', listed('another network or tokens', namesOf(isWrong))],
    [
      'single-source',
      listed(
        'believed alone',
        namesOf(({ isAlone }) => isAlone),
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

/** Two accounts at one provider have one label: then the place in the configuration tells which. */
function nameOf({ label, place }: SourceHealth, sources: readonly SourceHealth[]): string {
  const isShared = sources.some((other) => other.label === label && other.place !== place);
  return isShared ? `${label} (no. ${place + 1})` : label;
}
