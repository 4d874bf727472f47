import { setDebugLogging, type Logger } from './logger.ts';

/** Debug lines of a busy gateway fill a disk: they end by themselves. */
const DEBUG_MINUTES = 15;

export interface DebugSwitchOptions {
  readonly logger: Pick<Logger, 'warn'>;
  readonly setTimer?: (ended: () => void, ms: number) => { unref(): void };
}

/** Each call turns debug lines of the process on, for 15 minutes, or off. */
export function createDebugSwitch({ logger, setTimer = setTimeout }: DebugSwitchOptions): () => void {
  let turn: object | undefined;
  function end(): void {
    turn = undefined;
    setDebugLogging(false);
    logger.warn('debug logging off');
  }
  return () => {
    if (turn !== undefined) return end();
    const own = {};
    turn = own;
    setDebugLogging(true);
    logger.warn('debug logging on', { minutes: DEBUG_MINUTES });
    setTimer(() => {
      if (turn === own) end();
    }, DEBUG_MINUTES * 60_000).unref();
  };
}
