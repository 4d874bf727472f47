import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import { createLogger, type Logger, type LogLevel } from './logger.ts';

function capture(level: LogLevel, work: (logger: Logger) => void): Record<string, unknown>[] {
  const lines: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  work(createLogger({ service: 'test', level, stream }));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

test('writes one JSON object per line with the fields', () => {
  const [line] = capture('info', (logger) =>
    logger.info('transfer matched', { transferId: 7, amount: 10n ** 30n }),
  );
  expect(line).toEqual({
    time: expect.stringMatching(/^\d{4}-.*Z$/),
    level: 'info',
    service: 'test',
    message: 'transfer matched',
    transferId: 7,
    amount: '1000000000000000000000000000000',
  });
});

test('does not let fields overwrite the attributes of the line', () => {
  const [line] = capture('info', (logger) =>
    logger.info('real', { message: 'forged', level: 'debug', service: 'x' }),
  );
  expect(line).toMatchObject({ message: 'real', level: 'info', service: 'test' });
});

test('writes only lines of its level, and none when silent', () => {
  const all = (logger: Logger) => {
    logger.debug('d');
    logger.info('i');
    logger.warn('w');
    logger.error('e');
  };
  expect(capture('warn', all).map((line) => line['message'])).toEqual(['w', 'e']);
  expect(capture('silent', all)).toEqual([]);
});

test('adds the fields of a child logger to its lines', () => {
  const [line] = capture('info', (logger) =>
    logger.child({ chain: 'ETH' }).child({ a: 1 }).info('m', { b: 2 }),
  );
  expect(line).toMatchObject({ chain: 'ETH', a: 1, b: 2 });
});

test('masks secrets at any depth, and only secrets', () => {
  const [line] = capture('info', (logger) =>
    logger.info('m', {
      token: 's1',
      merchantToken: 's2',
      webhook_secret: 's3',
      headers: [{ Authorization: 's4' }],
      nested: { passphrase: 's5', privateKey: 's6', mnemonic: ['s7'] },
      url: 'amqp://user:s8@host/v',
      tokens: ['USDT'],
      tokenSymbol: 'USDT',
      fencingToken: 12,
    }),
  );
  expect(JSON.stringify(line)).not.toMatch(/s\d/);
  expect(line).toMatchObject({
    token: '[redacted]',
    url: 'amqp://[redacted]@host/v',
    tokens: ['USDT'],
    tokenSymbol: 'USDT',
    fencingToken: 12,
  });
});

test('logs an error with code, context and causes, and masks its secrets', () => {
  const cause = new Error('connect to postgres://u:pw@h/d failed');
  const error = new GatewayError('NO_DATABASE', 'no', {
    retryable: true,
    context: { token: 'x', n: 1n },
    cause,
  });
  const [line] = capture('info', (logger) => logger.error('failed', { error }));
  expect(line?.['error']).toMatchObject({
    name: 'GatewayError',
    code: 'NO_DATABASE',
    context: { token: '[redacted]', n: '1' },
    cause: { message: 'connect to postgres://[redacted]@h/d failed' },
  });
});

test('logs cycles, huge lists and texts, bytes and invalid dates', () => {
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const [line] = capture('info', (logger) =>
    logger.info('m', {
      circle,
      list: Array.from({ length: 1_000 }, (_, i) => i),
      text: 'x'.repeat(100_000),
      bytes: new Uint8Array(32),
      date: new Date(Number.NaN),
      map: new Map([['secret', 'q']]),
    }),
  );
  expect(JSON.stringify(line).length).toBeLessThan(10_000);
  expect(line).toMatchObject({ bytes: '[32 bytes]', date: 'Invalid Date', map: { secret: '[redacted]' } });
});
