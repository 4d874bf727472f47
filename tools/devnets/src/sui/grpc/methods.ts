import type { Node } from './node.ts';

export interface Call {
  readonly method: string;
  /** Aborted when the connection or the node closes. */
  readonly signal: AbortSignal;
  readonly header: (name: string) => string | undefined;
}

export type UnaryHandler = (node: Node, request: unknown, call: Call) => unknown;
export type StreamHandler = (node: Node, request: unknown, call: Call) => AsyncIterable<unknown>;

export type Handler =
  | { readonly kind: 'unary'; readonly run: UnaryHandler }
  | { readonly kind: 'stream'; readonly run: StreamHandler };

export type Handlers = Readonly<Record<string, Handler>>;

export function unary<Request, Response>(
  run: (node: Node, request: Request, call: Call) => Response | Promise<Response>,
): Handler {
  return { kind: 'unary', run: run as UnaryHandler };
}

export function stream<Request, Response>(
  run: (node: Node, request: Request, call: Call) => AsyncIterable<Response>,
): Handler {
  return { kind: 'stream', run: run as StreamHandler };
}
