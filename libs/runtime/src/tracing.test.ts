import { Writable } from 'node:stream';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { afterEach, describe, expect, test } from 'vitest';
import { GatewayError } from '@opentill/domain/gateway-error';
import { batchCalls } from './batch-calls.ts';
import { recordSpans } from './export-spans.ts';
import { createLogger } from './logger.ts';
import { startTracing } from './start-tracing.ts';
import {
  activeIds,
  commonTraceparent,
  inSpan,
  isTracing,
  outsideSpans,
  startSpan,
  startTrace,
} from './tracing.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`;
const OTHER = '00-11111111111111111111111111111111-2222222222222222-01';

let stop: () => Promise<void> = () => Promise.resolve();
afterEach(() => stop());

function record(sampleRatio = 1): InMemorySpanExporter {
  const exporter = new InMemorySpanExporter();
  const processor = new SimpleSpanProcessor({ exporter });
  const ended = stop;
  const stopOwn = recordSpans({ service: 'api', instanceId: 'one', sampleRatio, processor });
  stop = async () => {
    await ended();
    await stopOwn();
  };
  return exporter;
}

function logged(work: (logger: ReturnType<typeof createLogger>) => void): Record<string, unknown> {
  let text = '';
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  work(createLogger({ service: 'test', level: 'info', stream }));
  return JSON.parse(text) as Record<string, unknown>;
}

describe('tracing that is off', () => {
  test('starts no span and runs work unchanged', async () => {
    await startTracing({
      service: 'api',
      instanceId: 'one',
      settings: undefined,
      logger: undefined as never,
    });
    expect(isTracing('api')).toBe(false);
    expect(startSpan('api', 'work', { parent: PARENT })).toBeUndefined();
    expect(startTrace('api', 'work', { parent: undefined })).toBeUndefined();
    expect(await inSpan(undefined, () => Promise.resolve(7))).toBe(7);
    expect(activeIds()).toBeUndefined();
    expect(logged((logger) => logger.info('m'))).not.toHaveProperty('trace_id');
  });

  test('stays off for a service of the process that did not turn it on', () => {
    record();
    expect(startSpan('ops', 'work', { parent: PARENT })).toBeUndefined();
  });
});

describe('startSpan', () => {
  test('continues a stored traceparent and gives the one of the span', () => {
    const exporter = record();
    const span = startSpan('api', 'settle', { parent: PARENT, attributes: { 'opentill.order_pk': 'o1' } });
    span?.end();
    const [ended] = exporter.getFinishedSpans();
    expect(ended?.parentSpanContext).toMatchObject({ traceId: TRACE_ID, spanId: 'b7ad6b7169203331' });
    expect(ended?.attributes).toEqual({ 'opentill.order_pk': 'o1' });
    expect(ended?.resource.attributes).toMatchObject({
      'service.name': 'api',
      'service.instance.id': 'one',
    });
    expect(span?.traceparent).toBe(`00-${TRACE_ID}-${ended?.spanContext().spanId}-01`);
  });

  test.each([undefined, null, '', 'nonsense', `${PARENT}\r\nx: y`, PARENT.replace('0af7', 'ZZZZ')])(
    'starts none for the parent %j',
    (parent) => {
      record();
      expect(startSpan('api', 'settle', { parent })).toBeUndefined();
    },
  );

  test('becomes a child of the active span only within the same trace', () => {
    const exporter = record();
    const outer = startSpan('api', 'process', { parent: PARENT });
    outer?.run(() => {
      startSpan('api', 'same', { parent: PARENT })?.end();
      startSpan('api', 'other', { parent: OTHER })?.end();
    });
    const [same, other] = exporter.getFinishedSpans();
    expect(same?.parentSpanContext?.spanId).toBe(outer?.traceparent.split('-')[2]);
    expect(other?.parentSpanContext?.spanId).toBe('2222222222222222');
  });

  test('records no span of a trace whose parent is not sampled', () => {
    const exporter = record();
    const span = startSpan('api', 'settle', { parent: PARENT.replace(/01$/, '00') });
    expect(span?.traceparent).toMatch(/-00$/);
    span?.run(() => expect(activeIds()).toBeUndefined());
    span?.end();
    expect(exporter.getFinishedSpans()).toEqual([]);
  });
});

describe('startTrace', () => {
  test('begins a trace without a parent and continues the one of a caller', () => {
    record();
    expect(startTrace('api', 'createCollection', { parent: undefined })?.traceparent).not.toContain(TRACE_ID);
    expect(startTrace('api', 'createCollection', { parent: PARENT })?.traceparent).toContain(TRACE_ID);
  });

  test('samples new traces by the ratio and follows a sampled caller', () => {
    record(0);
    expect(startTrace('api', 'createCollection', { parent: undefined })?.traceparent).toMatch(/-00$/);
    expect(startTrace('api', 'createCollection', { parent: PARENT })?.traceparent).toMatch(/-01$/);
  });
});

describe('a running span', () => {
  test('adds its ids to log lines, also after await, until it ends', async () => {
    record();
    const span = startSpan('api', 'work', { parent: PARENT });
    const ids = { trace_id: TRACE_ID, span_id: span?.traceparent.split('-')[2] };
    await span?.run(async () => {
      await Promise.resolve();
      expect(logged((logger) => logger.info('m', { trace_id: 'forged' }))).toMatchObject(ids);
      outsideSpans(() => expect(activeIds()).toBeUndefined());
      span.end();
      expect(logged((logger) => logger.info('m'))).not.toHaveProperty('trace_id');
    });
  });

  test('is not active in a batch that its call starts', async () => {
    record();
    const call = batchCalls<number, string>({
      runTogether: (inputs) => Promise.resolve(inputs.map(() => String(activeIds()?.trace_id))),
      failedWhole: () => false,
      runsAtOnce: 1,
      inputsPerRun: 2,
    });
    const span = startSpan('api', 'work', { parent: PARENT });
    expect(await span?.run(() => call(1))).toBe('undefined');
  });

  test('records the code of an error without its message', async () => {
    const exporter = record();
    const error = new GatewayError('NO_NODE', 'https://node.example/v2/a-key-of-a-provider failed', {
      retryable: true,
    });
    const span = startSpan('api', 'work', { parent: PARENT });
    await expect(inSpan(span, () => Promise.reject(error))).rejects.toBe(error);
    const [ended] = exporter.getFinishedSpans();
    expect(ended?.attributes).toEqual({ 'error.type': 'NO_NODE' });
    expect(ended?.status).toEqual({ code: 2 });
    expect(ended?.events).toEqual([]);
  });
});

test('several spans have a common traceparent only if they are the same one', () => {
  record();
  const [one, two] = [startSpan('api', 'a', { parent: PARENT }), startSpan('api', 'b', { parent: OTHER })];
  expect(commonTraceparent([one, one])).toBe(one?.traceparent);
  expect(commonTraceparent([one, two])).toBeUndefined();
  expect(commonTraceparent([one, undefined])).toBeUndefined();
  expect(commonTraceparent([])).toBeUndefined();
});
