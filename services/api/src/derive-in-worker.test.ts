import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { evmAddressCodec } from '@opentill/chain-evm/address';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { parseMnemonic, seedOf } from '@opentill/wallet/mnemonic';
import { publicKeysFor, publicKeysOf } from '@opentill/wallet/public-keys';
import { ADDRESS_CODECS } from './address-codecs.ts';
import { createDerivationThread } from './derive-in-worker.ts';

const keys = publicKeysFor(
  publicKeysOf(seedOf(parseMnemonic('test test test test test test test test test test test junk')), [
    evmAddressCodec,
  ]),
  'main',
);
const thread = createDerivationThread(keys);
afterEach(() => thread.stop());

describe('createDerivationThread', () => {
  it('derives the same addresses as the deriver for concurrent calls', async () => {
    const deriver = createDepositDeriver(keys, [evmAddressCodec]);
    const calls = Array.from({ length: 5 }, (_, call) => [call, call + 1_000, 2 ** 31 - 1 - call]);
    const answers = await Promise.all(calls.map((indexes) => thread.derive('EVM', indexes)));
    expect(answers).toEqual(calls.map((indexes) => indexes.map((index) => deriver.address('EVM', index))));
  });

  it('derives addresses of every supported family', async () => {
    const words = `${'abandon '.repeat(11)}about`;
    const families = createDerivationThread(
      publicKeysFor(publicKeysOf(seedOf(parseMnemonic(words)), ADDRESS_CODECS), 'main'),
    );
    // First address of m/44'/195'/0'/0 for these words, according to TronWeb and wallets.
    expect(await families.derive('TRON', [0])).toEqual(['TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH']);
    // First address of m/54'/784'/0'/0 (secp256k1) for these words, according to SUI's SDK.
    expect(await families.derive('SUI', [0])).toEqual([
      '0xc61a7f1161020a717f852dca2e9bfc1ffe235145406dfbdccc16e6907c1f5403',
    ]);
    await families.stop();
  });

  it('rejects when it cannot derive, and keeps working', async () => {
    await expect(thread.derive('EVM', [-1])).rejects.toMatchObject({
      code: 'DERIVATION_FAILED',
      retryable: true,
    });
    expect(await thread.derive('EVM', [0])).toEqual(['0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266']);
  });

  it('rejects pending calls when the thread ends, and starts a new thread', async () => {
    const waiting = thread.derive(
      'EVM',
      Array.from({ length: 1_000 }, (_, index) => index),
    );
    const refused = expect(waiting).rejects.toMatchObject({ code: 'DERIVATION_FAILED' });
    await thread.stop();
    await refused;
    expect(await thread.derive('EVM', [1])).toHaveLength(1);
  });

  it('ends the idle thread, and starts a new thread', async () => {
    const ends: Promise<unknown>[] = [];
    const note = (worker: Worker): void => void ends.push(once(worker, 'exit'));
    process.on('worker', note);
    const brief = createDerivationThread(keys, 0);
    expect(await brief.derive('EVM', [2])).toHaveLength(1);
    await ends[0];
    expect(await brief.derive('EVM', [2])).toHaveLength(1);
    expect(ends).toHaveLength(2);
    process.off('worker', note);
    await brief.stop();
  });
});
