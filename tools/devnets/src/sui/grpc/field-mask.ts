import { refuse } from '../chain/refusal.ts';

/** The part of protobuf-ts's message types that reading, writing and masking need. */
export interface MessageShape {
  readonly fields: readonly FieldShape[];
  create(): object;
}

interface FieldShape {
  readonly name: string;
  readonly localName: string;
  readonly kind: string;
  readonly oneof?: string | undefined;
  readonly T?: unknown;
}

export interface FieldMask {
  /** Mask of a field's message; undefined if the field was not requested. */
  child(name: string): FieldMask | undefined;
  readonly isWhole: boolean;
}

type Tree = Map<string, Tree>;

const WHOLE: FieldMask = { isWhole: true, child: () => WHOLE };

function maskOf(tree: Tree): FieldMask {
  if (tree.size === 0) return WHOLE;
  return {
    isWhole: false,
    child(name) {
      const below = tree.get(name);
      return below && maskOf(below);
    },
  };
}

/** Parses a google.protobuf.FieldMask. Throws GatewayError<RefusalCode> for an unknown path. */
export function readMask(
  type: unknown,
  mask: { readonly paths: readonly string[] } | undefined,
  defaults: readonly string[],
): FieldMask {
  const paths = mask === undefined || mask.paths.length === 0 ? defaults : mask.paths;
  if (paths.includes('*')) return WHOLE;
  const root: Tree = new Map();
  for (const path of paths) {
    checkPath(type as MessageShape, path);
    addPath(root, path.split('.'));
  }
  return maskOf(root);
}

/** A node without children selects its whole field, so deeper paths are ignored. */
function addPath(root: Tree, names: readonly string[]): void {
  let tree = root;
  for (const [depth, name] of names.entries()) {
    const below = tree.get(name);
    if (below?.size === 0) return;
    const next: Tree = below ?? new Map();
    if (depth === names.length - 1) next.clear();
    tree.set(name, next);
    tree = next;
  }
}

function checkPath(type: MessageShape, path: string): void {
  let at: MessageShape | undefined = type;
  for (const name of path.split('.')) {
    const field: FieldShape | undefined = at?.fields.find((other) => other.name === name);
    if (field === undefined) refuse('INVALID_ARGUMENT', `invalid read_mask path: ${path}`);
    at = messageOf(field);
  }
}

function messageOf(field: FieldShape): MessageShape | undefined {
  return field.kind === 'message' ? (field.T as () => MessageShape)() : undefined;
}

/** Computes the fields of a message, called only for requested fields. */
export type FieldMakers<T> = { readonly [K in keyof T]?: (mask: FieldMask) => T[K] | undefined };

export function makeFields<T extends object>(type: unknown, mask: FieldMask, makers: FieldMakers<T>): T {
  const shape = type as MessageShape;
  const message = shape.create() as Record<string, unknown>;
  for (const field of shape.fields) {
    const below = mask.child(field.name);
    const make = makers[field.localName as keyof T];
    if (below === undefined || make === undefined) continue;
    const value = make(below);
    if (value !== undefined) message[field.localName] = pruneValue(field, value, below);
  }
  return message as T;
}

function pruneValue(field: FieldShape, value: unknown, mask: FieldMask): unknown {
  const type = messageOf(field);
  if (mask.isWhole || type === undefined) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => prune(type, item, mask));
  return prune(type, value, mask);
}

function prune(type: MessageShape, value: unknown, mask: FieldMask): unknown {
  const source = value as Record<string, unknown>;
  const message = type.create() as Record<string, unknown>;
  for (const field of type.fields) {
    const below = mask.child(field.name);
    if (below === undefined) continue;
    if (field.oneof !== undefined) {
      const group = source[field.oneof] as Record<string, unknown> | undefined;
      if (group?.['oneofKind'] !== field.localName) continue;
      const inner = pruneValue(field, group[field.localName], below);
      message[field.oneof] = { oneofKind: field.localName, [field.localName]: inner };
    } else if (source[field.localName] !== undefined) {
      message[field.localName] = pruneValue(field, source[field.localName], below);
    }
  }
  return message;
}
