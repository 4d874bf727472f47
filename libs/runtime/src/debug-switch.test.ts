import { Writable } from 'node:stream';
import { afterEach, expect, test } from 'vitest';
import { createDebugSwitch } from './debug-switch.ts';
import { createLogger, setDebugLogging, type LogLevel } from './logger.ts';

afterEach(() => setDebugLogging(false));

function setUp(level: LogLevel = 'warn') {
  const messages: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      messages.push((JSON.parse(chunk.toString()) as { message: string }).message);
      done();
    },
  });
  const logger = createLogger({ service: 'test', level, stream });
  const timers: { readonly ended: () => void; readonly ms: number }[] = [];
  const toggle = createDebugSwitch({
    logger,
    setTimer(ended, ms) {
      timers.push({ ended, ms });
      return { unref: () => undefined };
    },
  });
  return { messages, logger, timers, toggle };
}

test('writes debug lines of all loggers from one call until the next', () => {
  const { messages, logger, toggle } = setUp();
  logger.debug('before');
  toggle();
  logger.debug('during');
  logger.child({ chain: 'ETH' }).info('child');
  toggle();
  logger.debug('after');
  expect(messages).toEqual(['debug logging on', 'during', 'child', 'debug logging off']);
});

test('ends debug lines after 15 minutes, but not those of a later call', () => {
  const { messages, logger, timers, toggle } = setUp();
  toggle();
  expect(timers[0]?.ms).toBe(900_000);
  timers[0]?.ended();
  logger.debug('after');
  expect(messages).toEqual(['debug logging on', 'debug logging off']);
  toggle();
  toggle();
  toggle();
  timers[1]?.ended();
  logger.debug('still on');
  expect(messages.at(-1)).toBe('still on');
});

test('keeps a silent logger silent', () => {
  const { messages, logger, toggle } = setUp('silent');
  toggle();
  logger.error('no');
  expect(messages).toEqual([]);
});
