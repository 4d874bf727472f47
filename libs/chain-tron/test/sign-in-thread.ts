import { subscribe } from 'node:diagnostics_channel';
import { connect } from 'node:net';
import { parentPort } from 'node:worker_threads';
import type { Address } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { BlockHash } from '@opentill/chain/block';
import type { TokenContract } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1';

// Signs and reads a payment. Reports each socket that a module of this thread opens, and each request of `fetch`.

const opened: string[] = [];
for (const channel of ['net.client.socket', 'undici:request:create'])
  subscribe(channel, (_message, name) => void opened.push(String(name)));
// Imported after the subscription, so that sockets opened on loading are reported.
const { signPayment } = await import('../src/sender/sign-payment.ts');
const { readSignedTransaction } = await import('../src/sender/read-signed-transaction.ts');
const { tronAddressCodec } = await import('../src/address-codec.ts');

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
const { intent: read } = readSignedTransaction(raw);
// Proves that the subscription works; this must be the only reported socket.
const socket = connect(1, '127.0.0.1').on('error', () => socket.destroy());
parentPort!.postMessage({ intent, read, opened });
