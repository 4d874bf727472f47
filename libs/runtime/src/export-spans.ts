import { context, diag, DiagLogLevel, propagation } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { parseKeyPairsIntoRecord, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace';
import { withDeadline } from './deadline.ts';
import type { Logger } from './logger.ts';
import type { TracingSettings } from './service-settings.ts';
import { STOP_LIMITS_MS } from './stop-within.ts';
import { registerTracer } from './tracing.ts';

// The only file that loads the OpenTelemetry SDK. start-tracing.ts imports it when an endpoint is set.

/** A collector that is down would otherwise fill the log. */
const WARNING_EVERY_MS = 60_000;

export interface ExportOptions {
  readonly service: string;
  readonly instanceId: string;
  readonly settings: TracingSettings;
  readonly logger: Logger;
}

/** Returns a function that sends the remaining spans and stops. */
export function exportSpans({ service, instanceId, settings, logger }: ExportOptions): () => Promise<void> {
  const exporter = new OTLPTraceExporter({
    url: `${settings.endpoint.replace(/\/$/, '')}/v1/traces`,
    ...(settings.headers !== undefined && { headers: parseKeyPairsIntoRecord(settings.headers) }),
  });
  let warnedAtMs = -Infinity;
  const warn = (detail: string): void => {
    if (performance.now() - warnedAtMs < WARNING_EVERY_MS) return;
    warnedAtMs = performance.now();
    logger.warn('spans not exported', { detail });
  };
  const ignore = () => undefined;
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
  logger.info('traces on', { endpoint: settings.endpoint, sampleRatio: settings.sampleRatio });
  return recordSpans({ ...settings, service, instanceId, processor: new BatchSpanProcessor({ exporter }) });
}

export interface Recording {
  readonly service: string;
  readonly instanceId: string;
  /** Of new traces; others follow the decision of their parent. */
  readonly sampleRatio: number;
  readonly processor: SpanProcessor;
}

let arePartsShared = false;

/** Services of a process share context manager and propagator. The API accepts them only once. */
function shareParts(): void {
  if (arePartsShared) return;
  arePartsShared = true;
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}

export function recordSpans(recording: Recording): () => Promise<void> {
  const { service, instanceId, sampleRatio, processor } = recording;
  shareParts();
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.namespace': 'opentill',
      'service.name': service,
      'service.instance.id': instanceId,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [processor],
  });
  const remove = registerTracer(service, provider.getTracer('opentill'));
  return async () => {
    remove();
    const timeout = () => new Error('the collector did not answer in time');
    await withDeadline(STOP_LIMITS_MS.traces, () => provider.shutdown(), timeout).catch((error: Error) =>
      diag.warn(error.message),
    );
  };
}
