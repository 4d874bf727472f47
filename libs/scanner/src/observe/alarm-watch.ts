import type { Chain } from '@opentill/domain/chains';
import type { Logger } from '@opentill/runtime/logger';
import { ALARM_KINDS, alarmsOf, type AlarmKind, type ChainCondition } from './alarms.ts';
import type { ChainFigures } from './chain-figures.ts';

const JUST_OPENED_MS = 10_000;

export type AlarmWatch = ReturnType<typeof createAlarmWatch>;

/** Has no timer: rounds, health checks and scrapes evaluate the alarms and log changes. */
export function createAlarmWatch(
  figures: ReadonlyMap<Chain, ChainFigures>,
  { logger, nowMs }: { readonly logger: Logger; readonly nowMs: () => number },
) {
  const raised = new Map<Chain, ReadonlyMap<AlarmKind, string>>();
  return {
    /** None for a chain that another replica scans. */
    judge(chain: Chain): ReadonlyMap<AlarmKind, string> {
      const condition = conditionOf(figures.get(chain), nowMs());
      const now = condition === undefined ? new Map<AlarmKind, string>() : alarmsOf(condition, nowMs());
      const before = raised.get(chain);
      raised.set(chain, now);
      for (const kind of ALARM_KINDS) {
        const detail = now.get(kind);
        const wasRaised = before?.has(kind) === true;
        if (detail !== undefined && !wasRaised) logger.warn('alarm raised', { chain, kind, detail });
        if (detail === undefined && wasRaised) logger.info('alarm cleared', { chain, kind });
      }
      return now;
    },
  };
}

function conditionOf(figure: ChainFigures | undefined, nowMs: number): ChainCondition | undefined {
  if (figure?.network === undefined) return undefined;
  const { network, state, headTimeSeconds, halted, leftOut, pauseReason } = figure;
  const isStopped = halted !== undefined || leftOut !== undefined || pauseReason !== undefined;
  // A stored head may be old; the alarm waits until nodes had time to name a new one.
  const isJustOpened = headTimeSeconds === undefined && nowMs - figure.openedAtMs < JUST_OPENED_MS;
  if (!isStopped && (state === undefined || isJustOpened)) return undefined;
  return {
    ...figure,
    network,
    headTimeSeconds: headTimeSeconds ?? state?.head.timeSeconds ?? 0,
    sources: figure.sources?.() ?? [],
  };
}
