import type { Chain } from '@opentill/domain/chains';
import type { Clock } from '@opentill/runtime/clock';
import type { Logger } from '@opentill/runtime/logger';
import { ALARM_KINDS, alarmsOf, type AlarmKind, type ChainCondition } from './alarms.ts';
import type { ChainFigures } from './chain-figures.ts';

/** Judges chains when asked, and logs what changed since the last time. */
export interface AlarmWatch {
  /** The alarms that hold now; none for a chain that another replica scans. */
  judge(chain: Chain): ReadonlyMap<AlarmKind, string>;
}

const JUST_OPENED_MS = 10_000;
const NONE: ReadonlyMap<AlarmKind, string> = new Map();

/** Has no timer: rounds, health checks and scrapes ask, one of them always does. */
export function createAlarmWatch(deps: {
  readonly figures: ReadonlyMap<Chain, ChainFigures>;
  readonly logger: Logger;
  readonly clock: Clock;
}): AlarmWatch {
  const { figures, logger, clock } = deps;
  const raised = new Map<Chain, ReadonlyMap<AlarmKind, string>>();

  function conditionOf(chain: Chain, nowMs: number): ChainCondition | undefined {
    const figure = figures.get(chain);
    if (figure?.network === undefined) return undefined;
    const isStopped =
      figure.halted !== undefined || figure.leftOut !== undefined || figure.pauseReason !== undefined;
    if (figure.state === undefined && !isStopped) return undefined;
    const { network, state, openedAtMs } = figure;
    // A head that was stored long ago is no news before the nodes had time to name a new one.
    const isJustOpened = figure.headTimeSeconds === undefined && nowMs - openedAtMs < JUST_OPENED_MS;
    if (isJustOpened && !isStopped) return undefined;
    return {
      network,
      state,
      headTimeSeconds: figure.headTimeSeconds ?? state?.head.timeSeconds ?? 0,
      finality: figure.finality,
      halted: figure.halted,
      haltDetail: figure.haltDetail,
      leftOut: figure.leftOut,
      verifying: {
        failingSinceMs: figure.verifyFailingSinceMs,
        contradictionsInRow: figure.contradictionsInRow,
      },
      pauseReason: figure.pauseReason,
      fates: { waitingSinceMs: figure.fates?.waitingSinceMs, failingSinceMs: figure.fatesFailingSinceMs },
      finalityLag: figure.finalityLag,
      sources: figure.sources?.() ?? [],
      tokenWarnings: figure.tokenWarnings,
    };
  }

  return {
    judge(chain) {
      const nowMs = clock.now().getTime();
      const condition = conditionOf(chain, nowMs);
      const now = condition === undefined ? NONE : alarmsOf(condition, nowMs);
      const before = raised.get(chain) ?? NONE;
      raised.set(chain, now);
      for (const kind of ALARM_KINDS) {
        const detail = now.get(kind);
        if (detail !== undefined && !before.has(kind)) logger.warn('alarm raised', { chain, kind, detail });
        if (detail === undefined && before.has(kind)) logger.info('alarm cleared', { chain, kind });
      }
      return now;
    },
  };
}
