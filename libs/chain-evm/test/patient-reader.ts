import type { ChainReader } from '@opentill/chain/chain-reader';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createEvmReader } from '../src/reader.ts';

/** For tests that do not test timeouts: a busy machine may be slow, which is not a source's fault. */
export const PATIENT_MS = 20_000;

export function createPatientReader(network: EvmNetwork, deps: EvmReaderDeps = {}): ChainReader {
  return createEvmReader(network, { requestTimeoutMs: PATIENT_MS, ...deps });
}
