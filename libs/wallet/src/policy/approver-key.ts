import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import { createKeystore, openKeystore } from '../keystore.ts';
import { walletError } from '../wallet-error.ts';
import { parseApprovalText, type StoredApproval } from './approval.ts';

const KEY_BYTES = 32;
/** RFC 8410: DER prefix of a 32-byte private key. */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** @returns the public key for the policy, 64 lower-case hex digits; throws FILE_EXISTS, PASSPHRASE_TOO_SHORT */
export async function createApproverKey(path: string, passphrase: string, cost?: number): Promise<string> {
  const secret = randomBytes(KEY_BYTES);
  try {
    const keyId = publicKeyOf(privateKeyOf(secret));
    await createKeystore(path, { purpose: 'approver-key', keyId, secret }, passphrase, { cost });
    return keyId;
  } finally {
    secret.fill(0);
  }
}

/** The caller must have shown the result of `parseApprovalText` to the approver. @throws APPROVAL_INVALID */
export async function signApproval(
  path: string,
  passphrase: string,
  text: string,
  cost?: number,
): Promise<StoredApproval> {
  parseApprovalText(text);
  const { secret, keyId } = await openKeystore(path, 'approver-key', passphrase, cost);
  try {
    const key = privateKeyOf(secret);
    if (publicKeyOf(key) !== keyId)
      throw walletError(
        'KEYSTORE_DAMAGED',
        `${path} holds another key than its keyId says. Restore it from a copy`,
        { path },
      );
    return { approver: keyId, signature: sign(null, Buffer.from(text, 'utf8'), key) };
  } finally {
    secret.fill(0);
  }
}

function privateKeyOf(secret: Uint8Array): KeyObject {
  const der = Buffer.concat([PKCS8_PREFIX, secret]);
  try {
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  } finally {
    der.fill(0);
  }
}

function publicKeyOf(key: KeyObject): string {
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  return Buffer.from(x, 'base64url').toString('hex');
}
