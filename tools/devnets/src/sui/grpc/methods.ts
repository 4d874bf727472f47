import type { Node } from './node.ts';

/** What a handler knows of its call. */
export interface Call {
  /** Its name, for faults and masks. */
  readonly method: string;
  /** Aborted when the client or the node goes away. */
  readonly signal: AbortSignal;
  readonly header: (name: string) => string | undefined;
}

export type UnaryHandler = (node: Node, request: unknown, call: Call) => unknown;
export type StreamHandler = (node: Node, request: unknown, call: Call) => AsyncIterable<unknown>;

export type Handler =
  | { readonly kind: 'unary'; readonly run: UnaryHandler }
  | { readonly kind: 'stream'; readonly run: StreamHandler };

/** Handlers by the method's name; what has none is not implemented. */
export type Handlers = Readonly<Record<string, Handler>>;

/** A handler of the messages that the service's definition has for it. */
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
