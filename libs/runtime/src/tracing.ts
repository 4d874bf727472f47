import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { GatewayError } from '@opentill/domain/gateway-error';

/** Names of docs/architecture/traces.md; `opentill.order_pk` is on every span of an order. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanOptions {
  /** W3C `traceparent`. The active span is the parent instead if it belongs to the same trace. */
  readonly parent: string | null | undefined;
  readonly kind?: keyof typeof SpanKind;
  /** @default now */
  readonly startedAt?: Date;
  readonly attributes?: SpanAttributes;
}

/** A span that never ends is not exported. */
export interface OrderSpan {
  /** W3C `traceparent` that makes this span the parent. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  /** Log lines of `work` carry this span's ids, and spans of the same trace become its children. */
  run<T>(work: () => T): T;
  end(error?: unknown): void;
}

/** By service, since several may share a process. Empty while tracing is off: then this file does no work. */
const tracers = new Map<string, Tracer>();

/** Returns a function that removes it again. */
export function registerTracer(service: string, tracer: Tracer): () => void {
  tracers.set(service, tracer);
  return () => void (tracers.get(service) === tracer && tracers.delete(service));
}

export function isTracing(service: string): boolean {
  return tracers.has(service);
}

/** Undefined while tracing is off, and without a valid parent: only spans of orders are recorded. */
export function startSpan(service: string, name: string, options: SpanOptions): OrderSpan | undefined {
  const tracer = tracers.get(service);
  if (tracer === undefined) return undefined;
  const parent = parentOf(options.parent);
  return parent && start(tracer, name, options, parent);
}

/** Like startSpan, but without a valid parent it begins a trace. */
export function startTrace(service: string, name: string, options: SpanOptions): OrderSpan | undefined {
  const tracer = tracers.get(service);
  return tracer && start(tracer, name, options, parentOf(options.parent) ?? ROOT_CONTEXT);
}

/** Ends the span when the work ends. */
export async function inSpan<T>(span: OrderSpan | undefined, work: () => Promise<T>): Promise<T> {
  if (span === undefined) return work();
  try {
    const result = await span.run(work);
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** For work of several orders that the span of one of them happens to start. */
export function outsideSpans<T>(work: () => T): T {
  return tracers.size === 0 ? work() : context.with(ROOT_CONTEXT, work);
}

/** Ids of the active span for log lines. Undefined when it has ended or is not sampled. */
export function activeIds(): { readonly trace_id: string; readonly span_id: string } | undefined {
  if (tracers.size === 0) return undefined;
  const span = trace.getActiveSpan();
  if (span?.isRecording() !== true) return undefined;
  const { traceId, spanId } = span.spanContext();
  return { trace_id: traceId, span_id: spanId };
}

/** The one `traceparent` of several spans: none if they belong to different orders. */
export function commonTraceparent(spans: Iterable<OrderSpan | undefined>): string | undefined {
  const found = new Set([...spans].map((span) => span?.traceparent));
  const [first] = found;
  return found.size === 1 ? first : undefined;
}

function parentOf(traceparent: string | null | undefined): Context | undefined {
  if (traceparent === null || traceparent === undefined) return undefined;
  const stored = propagation.extract(ROOT_CONTEXT, { traceparent });
  const traceId = trace.getSpanContext(stored)?.traceId;
  if (traceId === undefined) return undefined;
  return trace.getSpanContext(context.active())?.traceId === traceId ? context.active() : stored;
}

function start(
  tracer: Tracer,
  name: string,
  { kind = 'INTERNAL', startedAt, attributes }: SpanOptions,
  parent: Context,
): OrderSpan {
  const options = {
    kind: SpanKind[kind],
    ...(startedAt && { startTime: startedAt }),
    ...(attributes && { attributes }),
  };
  const span = tracer.startSpan(name, options, parent);
  const own = trace.setSpan(parent, span);
  return {
    traceparent: traceparentOf(own),
    set: (more) => void span.setAttributes(more),
    run: (work) => context.with(own, work),
    end(error) {
      if (error !== undefined) markFailed(span, error);
      span.end();
    },
  };
}

function traceparentOf(own: Context): string {
  const carrier: { traceparent?: string } = {};
  propagation.inject(own, carrier);
  return carrier.traceparent ?? '';
}

function markFailed(span: Span, error: unknown): void {
  const code = error instanceof GatewayError ? error.code : error instanceof Error ? error.name : 'UNKNOWN';
  span.setAttribute('error.type', code);
  // Without the message: it may contain addresses, amounts, or a URL with a provider's key. The log has it.
  span.setStatus({ code: SpanStatusCode.ERROR });
}
