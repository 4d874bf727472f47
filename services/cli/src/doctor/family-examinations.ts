import { suiFamily } from '@opentill/chain-sui/family';
import { tronFamily } from '@opentill/chain-tron/family';
import { rpcEndpointsOf } from '@opentill/contracts/network-config';
import type { FamilyExamination } from './examine-by-reader.ts';

const REQUEST_TIMEOUT_MS = 10_000;

export const TRON: FamilyExamination = {
  openReader({ solidityUrls, ...rest }, place, onMissing) {
    const solidityUrl = solidityUrls?.[place];
    const singleEndpoint = {
      ...rest,
      rpcUrls: rpcEndpointsOf(rest).slice(place, place + 1),
      ...(solidityUrl === undefined ? {} : { solidityUrls: [solidityUrl] }),
    };
    return tronFamily.createReader(singleEndpoint, {
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      onFinding: ({ kind }) => onMissing(kind),
    });
  },
  missing: {
    RECEIPTS_MISSING: 'It returns no receipts of whole blocks',
    SOLID_MISSING: 'It does not answer walletsolidity',
  },
  mendMissing:
    'Use another endpoint, or set solidityUrls or <CHAIN>_SOLIDITY_URLS to endpoints that answer walletsolidity.',
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
    BALANCE_CHANGES_MISSING:
      'It returns checkpoints without balance changes, which are needed to see payments',
    COINS_MISSING: 'It has no coins and no balances: an archive',
  },
  archiveLacks: 'COINS_MISSING',
  mendMissing: 'Use a full node or a provider that has the indexes, and an archive only as the last one.',
  finalWord: 'final',
  wholeRead: 'was read whole, with all balance changes',
  singleSourceNote: 'A payout whose transaction never landed is paid again only with two of them.',
};
