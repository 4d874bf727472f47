import { createPublicKey, verify } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import { isChain } from '@opentill/domain/chains';
import { walletError } from '../wallet-error.ts';
import { isEd25519PublicKey } from './ed25519-public-key.ts';
import { canonicalContract, type PolicyPayout } from './policy.ts';

/** Decimals follow from chain and symbol. */
export type ApprovedPayout = Omit<PolicyPayout, 'decimals'>;

/** The writer is not trusted: only the signature counts. */
export interface StoredApproval {
  /** Public key, 64 lower-case hex digits. */
  readonly approver: string;
  /** Ed25519 over the UTF-8 bytes of `approvalText`. */
  readonly signature: Uint8Array;
}

const FORMAT = 'opentill-payout-approval-v1';
const SIGNATURE_BYTES = 64;
/** RFC 8410: DER prefix of a 32-byte public key. */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const AMOUNT = /^[1-9][0-9]{0,77}$/;
const ORDER_PK = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** No control characters: approvers read these on a terminal. */
const PLAIN = /^[\x21-\x7e]{1,200}$/;

/**
 * Approvers sign this text and the signer verifies it: a JSON array without white space, the amount in base units,
 * contract (null for the native coin) and addresses in canonical form.
 */
export function approvalText(payout: ApprovedPayout): string {
  return JSON.stringify([
    FORMAT,
    payout.chain,
    payout.wallet,
    canonicalContract(payout.chain, payout.contract),
    payout.symbol,
    payout.amountBaseUnits.toString(),
    payout.receiver,
    payout.merchantId,
    payout.orderPk,
  ]);
}

/** Show it before signing. Throws APPROVAL_INVALID unless `approvalText` made the text. */
export function parseApprovalText(text: string): ApprovedPayout {
  const payout = readFields(text);
  if (payout === undefined || approvalText(payout) !== text)
    throw walletError(
      'APPROVAL_INVALID',
      'the text is not a canonical approval text. Copy it from opentill unchanged',
    );
  return payout;
}

function readFields(text: string): ApprovedPayout | undefined {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(json)) return undefined;
  const [, chain, wallet, contract, symbol, amount, receiver, merchantId, orderPk] = json as unknown[];
  const isPlain = (field: unknown): field is string => typeof field === 'string' && PLAIN.test(field);
  if (!isChain(chain) || !isPlain(wallet) || !isPlain(symbol) || !isPlain(receiver)) return undefined;
  if (!isPlain(amount) || !AMOUNT.test(amount) || !isPlain(merchantId)) return undefined;
  if (!isPlain(orderPk) || !ORDER_PK.test(orderPk)) return undefined;
  if (contract !== null && !isPlain(contract)) return undefined;
  return {
    chain,
    wallet: wallet as Address,
    contract,
    symbol,
    amountBaseUnits: BigInt(amount),
    receiver: receiver as Address,
    merchantId,
    orderPk,
  };
}

/** Never throws: key and signature come from a table that other roles write. */
export function verifyApproval(publicKey: string, text: string, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES || !isEd25519PublicKey(publicKey)) return false;
  const der = Buffer.concat([SPKI_PREFIX, Buffer.from(publicKey, 'hex')]);
  try {
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    return verify(null, Buffer.from(text, 'utf8'), key, signature);
  } catch {
    return false;
  }
}
