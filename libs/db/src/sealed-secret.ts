import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { GatewayError } from '@opentill/domain/gateway-error';

/** `SECRET_UNREADABLE`: wrong key, a secret of another row, or changed bytes; the cause cannot be distinguished. */
export type SealedSecretErrorCode = 'SECRETS_KEY_INVALID' | 'SECRET_UNREADABLE';

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** First byte of a sealed secret, followed by nonce, ciphertext and tag. */
const VERSION = 1;

/** Base64 of 32 random bytes. Throws SECRETS_KEY_INVALID. */
export function parseSecretsKey(base64: string): Buffer {
  const key = Buffer.from(base64.trim(), 'base64');
  const canonical = key.toString('base64').replace(/=+$/, '');
  if (key.length !== KEY_BYTES || canonical !== base64.trim().replace(/=+$/, '')) throw invalidKey();
  return key;
}

function invalidKey(): GatewayError<SealedSecretErrorCode> {
  return new GatewayError('SECRETS_KEY_INVALID', 'the secrets key must be the base64 of 32 bytes', {
    retryable: false,
  });
}

export function tokenAad(merchantId: string): string {
  return `merchant:${merchantId}:token`;
}

export function webhookSecretAad(merchantId: string): string {
  return `merchant:${merchantId}:webhook-secret`;
}

/** AES-256-GCM. `aad` names owner and kind, so sealed bytes moved to another row cannot be opened. */
export function sealSecret(key: Buffer, plain: string, aad: string): Buffer {
  if (key.length !== KEY_BYTES) throw invalidKey();
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(aad, 'utf8'));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]);
}

/** Throws SECRET_UNREADABLE. */
export function openSecret(key: Buffer, sealed: Uint8Array, aad: string): string {
  if (key.length !== KEY_BYTES) throw invalidKey();
  const bytes = Buffer.from(sealed);
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) throw unreadable();
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, 1 + NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(aad, 'utf8'));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  try {
    const body = bytes.subarray(1 + NONCE_BYTES, bytes.length - TAG_BYTES);
    return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
  } catch (error) {
    throw unreadable(error);
  }
}

function unreadable(cause?: unknown): GatewayError<SealedSecretErrorCode> {
  return new GatewayError('SECRET_UNREADABLE', 'the sealed secret cannot be opened: check SECRETS_KEY', {
    retryable: false,
    cause,
  });
}
