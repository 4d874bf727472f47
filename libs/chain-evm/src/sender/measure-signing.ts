/**
 * Measures the cost of signing: `node --conditions=source libs/chain-evm/src/sender/measure-signing.ts`. Prints
 * transfers per second on one core, microseconds per transfer, and the share of decoding the signed bytes again.
 */
import { randomBytes } from 'node:crypto';
import type { Address } from '@opentill/chain/address-codec';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { TokenContract } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { pointFromScalar, signRecoverable } from 'tiny-secp256k1';
import { evmAddressCodec } from '../address.ts';
import { readSignedTransaction } from './read-signed-transaction.ts';
import { signPayment } from './sign-payment.ts';

const COUNT = 1_000;
const GWEI = 10n ** 9n;

const key = randomBytes(32);
const wallet = evmAddressCodec.fromPublicKey(pointFromScalar(key, true) ?? new Uint8Array());
const backend: SignerBackend = {
  addresses: [wallet],
  sign: async (_, digest) => {
    const { signature, recoveryId } = signRecoverable(digest, key);
    return Uint8Array.of(...signature, recoveryId);
  },
};
const deps = {
  chainId: 1,
  backend,
  bounds: { minPriorityFeePerGas: 0n, maxPriorityFeePerGas: GWEI, maxFeePerGas: 100n * GWEI },
};
const intent = {
  from: wallet,
  contract: '0xdac17f958d2ee523a2206206994597c13d831ec7' as TokenContract,
  to: `0x${'ab'.repeat(20)}` as Address,
  amountBaseUnits: baseUnits(250_000_000n),
};
const terms = { gasLimit: 80_000n, maxFeePerGas: 30n * GWEI, maxPriorityFeePerGas: GWEI };

async function signAll(): Promise<readonly Uint8Array[]> {
  const raws: Uint8Array[] = [];
  for (let nonce = 0; nonce < COUNT; nonce += 1)
    raws.push((await signPayment(deps, intent, nonce, terms)).raw);
  return raws;
}

await signAll();
const before = performance.now();
const raws = await signAll();
const signedMs = performance.now() - before;
raws.forEach(readSignedTransaction);
const readMs = performance.now() - before - signedMs;
const perSecond = Math.round((COUNT / signedMs) * 1_000);
process.stdout.write(
  `${COUNT} payments in ${Math.round(signedMs)} ms: ${perSecond} a second, ${Math.round((signedMs / COUNT) * 1_000)} µs each, ` +
    `including decoding again ${Math.round((readMs / COUNT) * 1_000)} µs\n`,
);
