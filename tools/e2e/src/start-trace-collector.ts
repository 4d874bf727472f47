import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Undefined: the root. */
  readonly parentSpanId: string | undefined;
  readonly startMs: number;
  readonly durationMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface TraceCollector {
  readonly endpoint: string;
  /** By start. */
  spansOf(traceId: string): readonly CollectedSpan[];
  close(): Promise<void>;
}

interface KeyValue {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number };
}

/** Part of an OTLP request in JSON. */
interface ExportedTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly attributes: readonly KeyValue[];
      }[];
    }[];
  }[];
}

/** Receives OTLP over HTTP in JSON and keeps all spans. */
export async function startTraceCollector(): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces')
        spans.push(...spansIn(JSON.parse(Buffer.concat(chunks).toString('utf8')) as ExportedTraces));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spansOf: (traceId) =>
      spans.filter((span) => span.traceId === traceId).toSorted((a, b) => a.startMs - b.startMs),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function spansIn({ resourceSpans }: ExportedTraces): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => {
        const startMs = Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000;
        return {
          service: String(toRecord(resource.attributes)['service.name']),
          name: span.name,
          traceId: span.traceId,
          spanId: span.spanId,
          parentSpanId: span.parentSpanId,
          startMs,
          durationMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000 - startMs,
          attributes: toRecord(span.attributes),
        };
      }),
    ),
  );
}

function toRecord(list: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

/** One line per span: indentation, service and name. */
export function drawTree(spans: readonly CollectedSpan[], rootParentId: string | undefined): string {
  const linesUnder = (parentId: string | undefined, depth: number): string[] =>
    spans
      .filter(({ parentSpanId }) => parentSpanId === parentId)
      .flatMap((span) => [
        `${'  '.repeat(depth)}${span.service}: ${span.name}`,
        ...linesUnder(span.spanId, depth + 1),
      ]);
  return linesUnder(rootParentId, 0).join('\n');
}
