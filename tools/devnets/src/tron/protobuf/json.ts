import { fromBase58, hex, hexBytes, toBase58 } from '../tron-address.ts';
import { jsonInteger, textOf } from './json-text.ts';
import { enumSchema, isMessage, messageSchema, type Field } from './schema.ts';
import { decodeMessage, encodeMessage } from './wire.ts';

export type JsonObject = { [key: string]: unknown };

/** Like java-tron's JsonFormat: no default values, bytes in hex, enums by name, base58 addresses if `visible`. */
export function messageToJson(type: string, message: object, visible: boolean): JsonObject {
  const json: JsonObject = {};
  for (const field of messageSchema(type).fields) {
    const value = (message as JsonObject)[field.name];
    if (value === undefined || value === null) continue;
    if (field.repeated) {
      const list = value as readonly unknown[];
      if (list.length > 0) json[field.name] = list.map((item) => valueToJson(field, item, visible));
    } else if (field.kind === 'message' || !isDefault(value)) {
      json[field.name] = valueToJson(field, value, visible);
    }
  }
  return json;
}

function isDefault(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === 0 || value === 0n || value === false || value === '';
}

function valueToJson(field: Field, value: unknown, visible: boolean): unknown {
  switch (field.kind) {
    case 'bytes':
      return hex(value as Uint8Array);
    case 'address': {
      const address = value as Uint8Array;
      return visible && address.length === 21 ? toBase58(address) : hex(address);
    }
    case 'enum':
      return enumSchema(field.type).names.get(value as number) ?? value;
    case 'message':
      return field.type === 'Any'
        ? anyToJson(value as { type_url?: string; value?: Uint8Array }, visible)
        : messageToJson(field.type, value as object, visible);
    case 'int64':
      return jsonInteger(value as bigint);
    default:
      return value;
  }
}

function anyToJson(any: { type_url?: string; value?: Uint8Array }, visible: boolean): JsonObject {
  const type = messageNameOf(any.type_url);
  const bytes = any.value ?? new Uint8Array();
  const value = isMessage(type) ? messageToJson(type, decodeMessage(type, bytes), visible) : hex(bytes);
  return { value, type_url: any.type_url };
}

/** Message name of a type URL such as `type.googleapis.com/protocol.TransferContract`. */
export function messageNameOf(typeUrl: string | undefined): string {
  return typeUrl?.slice(typeUrl.lastIndexOf('.') + 1) ?? '';
}

/** Inverse of messageToJson. Ignores unknown keys, like java-tron. Throws an Error for an invalid value. */
export function messageFromJson<T extends object>(type: string, json: JsonObject, visible: boolean): T {
  const message: JsonObject = {};
  for (const field of messageSchema(type).fields) {
    const value = json[field.name];
    if (value === undefined || value === null) continue;
    message[field.name] = field.repeated
      ? (value as readonly unknown[]).map((item) => valueFromJson(field, item, visible))
      : valueFromJson(field, value, visible);
  }
  return message as T;
}

function valueFromJson(field: Field, value: unknown, visible: boolean): unknown {
  switch (field.kind) {
    case 'bytes':
      return hexBytes(textOf(value));
    case 'address': {
      const text = textOf(value);
      return visible && text.startsWith('T') ? fromBase58(text) : hexBytes(text);
    }
    case 'string':
      return textOf(value);
    case 'int64':
      return BigInt(value as string | number | bigint);
    case 'int32':
      return Number(value);
    case 'bool':
      return value === true || value === 'true';
    case 'enum':
      return typeof value === 'number' ? value : enumNumber(field.type, textOf(value));
    case 'message':
      return field.type === 'Any'
        ? anyFromJson(value as JsonObject, visible)
        : messageFromJson(field.type, value as JsonObject, visible);
  }
}

function enumNumber(type: string, name: string): number {
  const { numbers } = enumSchema(type);
  const exact = numbers.get(name);
  if (exact !== undefined) return exact;
  // ABI entries use Solidity's lower-case names.
  for (const [known, number] of numbers) if (known.toLowerCase() === name.toLowerCase()) return number;
  throw new Error(`Enum type "${type}" has no value named "${name}".`);
}

function anyFromJson(json: JsonObject, visible: boolean): { type_url: string; value: Uint8Array } {
  const typeUrl = textOf(json['type_url']);
  const type = messageNameOf(typeUrl);
  const value = json['value'];
  const bytes = isMessage(type)
    ? encodeMessage(type, messageFromJson(type, value as JsonObject, visible))
    : hexBytes(textOf(value));
  return { type_url: typeUrl, value: bytes };
}
