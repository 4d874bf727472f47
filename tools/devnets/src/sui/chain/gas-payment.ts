import { fromBase58, toBase58 } from '@mysten/sui/utils';
import { accumulatorIdOf, hexOf } from '../digest.ts';
import { SUI_TYPE } from '../coin-type.ts';
import type { ObjectReference, TransactionData } from './transaction.ts';

/** How a transaction pays for gas. */
export type GasPayment =
  /** With coins; what they have becomes one, the first. */
  | { readonly kind: 'coins'; readonly coins: readonly ObjectReference[] }
  /** From the owner's address balance alone. */
  | { readonly kind: 'funds' }
  /** From the owner's address balance, of which so much is reserved and may be used as the gas coin; coins go into it. */
  | {
      readonly kind: 'reservation';
      readonly reservedMist: bigint;
      readonly coins: readonly ObjectReference[];
    }
  /** Not at all. */
  | { readonly kind: 'gasless' };

/** Ends a digest that is none, but says how much of an address balance is reserved (coin_reservation.rs). */
const RESERVATION_MAGIC = Buffer.alloc(20, 0xac);

export interface Reservation {
  readonly amount: bigint;
  readonly epoch: bigint;
}

/** What a reference reserves that stands for an address balance; undefined: it is of an object. */
export function readReservation(reference: ObjectReference): Reservation | undefined {
  const bytes = Buffer.from(fromBase58(reference.digest));
  if (bytes.length !== 32 || !bytes.subarray(12).equals(RESERVATION_MAGIC)) return undefined;
  return { amount: bytes.readBigUInt64LE(0), epoch: BigInt(bytes.readUInt32LE(8)) };
}

/** The object id that a reservation of an owner's SUI bears: the accumulator's, masked with the chain's id. */
export function reservationIdOf(chainId: string, owner: string): string {
  const id = Buffer.from(accumulatorIdOf(owner, SUI_TYPE).slice(2), 'hex');
  const mask = fromBase58(chainId);
  return hexOf(id.map((byte, index) => byte ^ (mask[index] ?? 0)));
}

/** The reference that reserves some of an owner's SUI. */
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
