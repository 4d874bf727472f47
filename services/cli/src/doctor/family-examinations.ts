import { suiFamily } from '@opentill/chain-sui/family';
import { tronFamily } from '@opentill/chain-tron/family';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import type { FamilyExamination } from './examine-by-reader.ts';

const REQUEST_TIMEOUT_MS = 10_000;

export const TRON: FamilyExamination = {
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

export const SUI: FamilyExamination = {
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
