import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, expect, test } from 'vitest';
import type { Address } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1';

/** Node reports each socket that any module opens, and each request of `fetch`. */
const CHANNELS = ['net.client.socket', 'undici:request:create'];
const opened: string[] = [];
const note = (_message: unknown, name: string | symbol): void => void opened.push(String(name));
for (const channel of CHANNELS) subscribe(channel, note);
afterAll(() => CHANNELS.forEach((channel) => unsubscribe(channel, note)));
// Not before: what is loaded is watched as well.
const { signPayment } = await import('./sign-payment.ts');
const { readSignedTransaction } = await import('./read-signed-transaction.ts');
const { tronAddressCodec } = await import('../address-codec.ts');

test('loads TronWeb, signs and reads a payment without opening a socket', async () => {
  const key = Buffer.alloc(32, 7);
  const from: Address = tronAddressCodec.fromPublicKey(pointFromScalar(key, true)!);
  const backend: SignerBackend = {
    addresses: [from],
    sign(_address, digest) {
      const { signature, recoveryId } = signRecoverable(digest, key);
      return Promise.resolve(Uint8Array.from([...signature, recoveryId]));
    },
  };
  const contract = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t' as TokenContract;
  const intent = { from, contract, to: contract as string as Address, amountBaseUnits: baseUnits(5n) };
  const hash = '0000000000010022e1b5775870853db9b1a22d122d28ea8b2351fcf69c1cebb0' as BlockHash;
  const validity = { expiresMs: 1_795_229_376_000, reference: { height: 65_570, hash }, uniqueMs: 1 };
  const { raw } = await signPayment({ backend, maxFeeLimitSun: 9n }, intent, validity, 9n);
  expect(readSignedTransaction(raw).intent).toEqual(intent);
  expect(opened).toEqual([]);
});
