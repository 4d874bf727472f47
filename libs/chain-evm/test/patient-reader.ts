import type { ChainReader } from '@opentill/chain/chain-reader';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createEvmReader } from '../src/reader.ts';

/** For tests of something else than time: a busy machine may take long to answer, and it is no fault of a source. */
export const PATIENT_MS = 20_000;

/** A reader that waits so long for an answer, unless told otherwise. */
export function createPatientReader(network: EvmNetwork, deps: EvmReaderDeps = {}): ChainReader {
  return createEvmReader(network, { requestTimeoutMs: PATIENT_MS, ...deps });
}
