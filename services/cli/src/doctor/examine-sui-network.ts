import { suiFamily } from '@opentill/chain-sui/family';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import { examineByReader, type FamilyExamination } from './examine-by-reader.ts';
import type { Finding } from './finding.ts';

const REQUEST_TIMEOUT_MS = 10_000;

const SUI: FamilyExamination = {
  openReader: (network, place, onMissing) =>
    suiFamily.createReader(
      { ...network, rpcUrls: rpcEndpointsOf(network).slice(place, place + 1) },
      { requestTimeoutMs: REQUEST_TIMEOUT_MS, onFinding: ({ kind }) => onMissing(kind) },
    ),
  missing: {
    BALANCE_CHANGES_MISSING: 'It gives checkpoints without balance changes, by which payments are seen',
    COINS_MISSING: 'It knows no coins and no balances: an archive',
  },
  archiveLacks: 'COINS_MISSING',
  mendMissing: 'Take a full node or a provider that has the indexes, and an archive only as the last one.',
  finalWord: 'final',
  wholeRead: 'was read whole, with all balance changes',
  alone: 'A payout whose transaction never landed is paid anew only with two of them.',
};

/** Holds a SUI network of the file against its endpoints: each by itself, and against each other. */
export function examineSuiNetwork(network: NetworkConfig, clock: Clock): Promise<readonly Finding[]> {
  return examineByReader(SUI, network, clock);
}
