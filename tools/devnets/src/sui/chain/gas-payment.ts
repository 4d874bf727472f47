import { fromBase58, toBase58 } from '@mysten/sui/utils';
import { accumulatorIdOf, hexOf } from '../digest.ts';
import { SUI_TYPE } from '../coin-type.ts';
import type { ObjectReference, TransactionData } from './transaction.ts';

export type GasPayment =
  /** All coins are merged into the first. */
  | { readonly kind: 'coins'; readonly coins: readonly ObjectReference[] }
  | { readonly kind: 'funds' }
  /** Reserves part of the owner's address balance as the gas coin. Given coins are merged into the balance. */
  | {
      readonly kind: 'reservation';
      readonly reservedMist: bigint;
      readonly coins: readonly ObjectReference[];
    }
  | { readonly kind: 'gasless' };

/** Last 20 bytes of a pseudo digest that encodes a reservation (coin_reservation.rs). */
const RESERVATION_MAGIC = Buffer.alloc(20, 0xac);

export interface Reservation {
  readonly amount: bigint;
  readonly epoch: bigint;
}

export function readReservation(reference: ObjectReference): Reservation | undefined {
  const bytes = Buffer.from(fromBase58(reference.digest));
  if (bytes.length !== 32 || !bytes.subarray(12).equals(RESERVATION_MAGIC)) return undefined;
  return { amount: bytes.readBigUInt64LE(0), epoch: BigInt(bytes.readUInt32LE(8)) };
}

/** Object id of a reservation of an owner's SUI: the accumulator's id, masked with the chain id. */
export function reservationIdOf(chainId: string, owner: string): string {
  const id = Buffer.from(accumulatorIdOf(owner, SUI_TYPE).slice(2), 'hex');
  const mask = fromBase58(chainId);
  return hexOf(id.map((byte, index) => byte ^ (mask[index] ?? 0)));
}

export function writeReservation(
  chainId: string,
  owner: string,
  { amount, epoch }: Reservation,
): ObjectReference {
  const head = Buffer.alloc(12);
  head.writeBigUInt64LE(amount, 0);
  head.writeUInt32LE(Number(epoch), 8);
  const digest = toBase58(Buffer.concat([head, RESERVATION_MAGIC]));
  return { objectId: reservationIdOf(chainId, owner), version: '0', digest };
}

export function gasPaymentOf(data: TransactionData): GasPayment {
  const { payment, price } = data.gasData;
  const [first, ...rest] = payment;
  if (first === undefined) return BigInt(price) === 0n ? { kind: 'gasless' } : { kind: 'funds' };
  const reservation = readReservation(first);
  if (reservation === undefined) return { kind: 'coins', coins: payment };
  return { kind: 'reservation', reservedMist: reservation.amount, coins: rest };
}
