import type { ChainReader, RangeRead } from '@opentill/chain/chain-reader';
import type { EvmNetwork, EvmReaderDeps } from '../src/reader.ts';
import { createEvmReader } from '../src/reader.ts';

/** For tests that do not test timeouts: a busy machine may be slow, which is not a source's fault. */
export const PATIENT_MS = 20_000;

export function createPatientReader(network: EvmNetwork, deps: EvmReaderDeps = {}): ChainReader {
  return createEvmReader(network, { requestTimeoutMs: PATIENT_MS, ...deps });
}

/** Without what differs between the ways of reading. */
export async function readWhole(reader: ChainReader, from: number, to: number): Promise<RangeRead> {
  const { headers, below, transfers } = await reader.readSeen(from, to);
  return { headers, ...(below === undefined ? {} : { below }), transfers };
}
