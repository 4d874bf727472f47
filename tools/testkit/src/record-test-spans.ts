import { InMemorySpanExporter, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace';
import { recordSpans } from '@opentill/runtime/export-spans';

export interface RecordedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** W3C. */
  readonly traceparent: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface RecordedSpans {
  /** Ended ones, in order. */
  readonly ended: () => readonly RecordedSpan[];
  readonly stop: () => Promise<void>;
}

/** A parent for orders of a test. */
export const TEST_TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
export const TEST_TRACEPARENT = `00-${TEST_TRACE_ID}-b7ad6b7169203331-01`;

/** Turns tracing on for these services of the process. */
export function recordTestSpans(...services: readonly string[]): RecordedSpans {
  const exporter = new InMemorySpanExporter();
  const stops = services.map((service) =>
    recordSpans({
      service,
      instanceId: 'test',
      sampleRatio: 1,
      processor: new SimpleSpanProcessor({ exporter }),
    }),
  );
  return {
    ended: () => exporter.getFinishedSpans().map(toRecorded),
    async stop() {
      for (const stop of stops) await stop();
    },
  };
}

function toRecorded(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    service: String(span.resource.attributes['service.name']),
    name: span.name,
    traceId,
    spanId,
    traceparent: `00-${traceId}-${spanId}-01`,
    parentSpanId: span.parentSpanContext?.spanId,
    attributes: span.attributes,
  };
}
