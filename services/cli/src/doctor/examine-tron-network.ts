import { tronFamily } from '@opentill/chain-tron/family';
import { rpcEndpointsOf, type NetworkConfig } from '@opentill/contracts/network-config';
import type { Clock } from '@opentill/runtime/clock';
import { examineByReader, type FamilyExamination } from './examine-by-reader.ts';
import type { Finding } from './finding.ts';

const REQUEST_TIMEOUT_MS = 10_000;

const TRON: FamilyExamination = {
  openReader({ solidityUrls, ...rest }, place, onMissing) {
    const solidityUrl = solidityUrls?.[place];
    const alone = {
      ...rest,
      rpcUrls: rpcEndpointsOf(rest).slice(place, place + 1),
      ...(solidityUrl === undefined ? {} : { solidityUrls: [solidityUrl] }),
    };
    return tronFamily.createReader(alone, {
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      onFinding: ({ kind }) => onMissing(kind),
    });
  },
  missing: {
    RECEIPTS_MISSING: 'It gives no receipts of whole blocks',
    SOLID_MISSING: 'It does not answer walletsolidity',
  },
  mendMissing:
    'Take another endpoint, or name where walletsolidity is answered in solidityUrls or <CHAIN>_SOLIDITY_URLS.',
  finalWord: 'solid',
  wholeRead: 'was read whole, with all its receipts',
};

/** Holds a TRON network of the file against its endpoints: each by itself, and against each other. */
export function examineTronNetwork(network: NetworkConfig, clock: Clock): Promise<readonly Finding[]> {
  return examineByReader(TRON, network, clock);
}
