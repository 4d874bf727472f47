import { parentPort, workerData } from 'node:worker_threads';
import { createDepositDeriver } from '@opentill/wallet/deposit-address-deriver';
import { ADDRESS_CODECS } from './address-codecs.ts';
import type { DerivationAnswer, DerivationRequest, DerivationWorkerData } from './derive-in-worker.ts';

const { publicKeys } = workerData as DerivationWorkerData;
const deriver = createDepositDeriver(publicKeys, ADDRESS_CODECS);

parentPort?.on('message', ({ id, family, indexes }: DerivationRequest) => {
  let answer: DerivationAnswer;
  try {
    answer = { id, addresses: indexes.map((index) => deriver.address(family, index)) };
  } catch (error) {
    answer = { id, problem: error instanceof Error ? error.message : String(error) };
  }
  parentPort?.postMessage(answer);
});
