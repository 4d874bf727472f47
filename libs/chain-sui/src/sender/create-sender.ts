import type { Address } from '@opentill/chain/address-codec';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { suiPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { isTestNetwork } from '@opentill/contracts/network-kind';
import type { SendAnswer } from '@opentill/chain-sources/send-to-all';
import { suiAddressCodec } from '../address-codec.ts';
import type { SourceDefect } from '../check-network.ts';
import { createSuiReader } from '../reader.ts';
import { createSuiSources, type SuiSourcesDeps } from '../sui-sources.ts';
import { broadcast } from './broadcast.ts';
import { findInCheckpoints } from './find-in-checkpoints.ts';
import { signGathering, type NotGathered } from './gather-coins.ts';
import { preparePayments } from './prepare-payments.ts';
import { currentWindow, readGasPrice } from './read-epoch.ts';
import { readBalances } from './read-holdings.ts';
import { readMostAtOnce } from './read-most-at-once.ts';
import { readPayment } from './read-payment.ts';
import { differenceOfStored, signPayment } from './sign-payment.ts';

export interface SuiSenderDeps extends Omit<SuiSourcesDeps, 'shownHead'> {
  readonly backend: SignerBackend;
  /** Moves coins without gas where the network permits it. @default true */
  readonly gasless?: boolean;
  /** Raise an alarm for `wrongHash`. */
  readonly onSendAnswer?: (answer: SendAnswer) => void;
  readonly onNotGathered?: (event: NotGathered) => void;
  /** Raise an alarm: a single source of several was accepted. */
  readonly onSingleSource?: (source: { readonly label: string }) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
}

const ignore = (): void => undefined;
/** Not used for signing: on SUI epochs end a transaction. */
const TWO_EPOCHS_MS = 2 * 86_400_000;

/**
 * A signing address that is no hot wallet of the backend is a deposit address, whose gas the hot wallet pays as
 * sponsor.
 */
export function createSuiSender(network: NetworkConfig, deps: SuiSenderDeps): ExpiringSender {
  const terms = suiPayoutTermsOf(network);
  const { chain, genesisId: chainId } = network;
  if (terms === undefined || chainId === undefined)
    throw new TypeError(`the network ${chain} has no payouts section or no genesisId`);
  const { backend, gasless = true, onSendAnswer = ignore, onSingleSource = ignore } = deps;
  const { maxGasBudgetMist, maxGasPriceMist } = terms;
  const sources = createSuiSources(network, deps);
  const { onFinding, onNotGathered = ignore } = deps;
  const reader = createSuiReader(network, { ...deps, onSingleSource, ...(onFinding && { onFinding }) });
  const sponsor = backend.addresses.find((address) => suiAddressCodec.parse(address) === address);
  const sponsorOf = (wallet: Address): Address | undefined =>
    backend.addresses.includes(wallet) ? undefined : sponsor;
  const signing = { backend, chainId, sponsor, maxGasBudgetMist, maxGasPriceMist };
  const bounds = { chainId, maxGasBudgetMist, maxGasPriceMist, sponsorOf, gasless };
  return {
    chain,
    validForMs: TWO_EPOCHS_MS,
    epochs: { currentWindow: (epoch, options = {}) => currentWindow(sources, epoch, options) },
    sponsorship: {
      sponsorOf,
      mostAtOnce: (wallet, contract, options = {}) => readMostAtOnce(sources, wallet, contract, options),
    },
    gathering: {
      signGathering: (wallet, contract, validity, options = {}) =>
        signGathering(sources, { ...signing, onNotGathered }, wallet, contract, validity, options),
    },
    checkNetwork: (options = {}) => reader.checkNetwork(options),
    balances: (wallet, contracts, options = {}) =>
      readBalances(sources, wallet, contracts, sponsorOf(wallet), options),
    workPrice: (options = {}) => readGasPrice(sources, options),
    prepare: (intents, options = {}) => preparePayments(sources, bounds, intents, options),
    sign: (intent, validity, feeLimit, funding) => signPayment(signing, intent, validity, feeLimit, funding),
    differenceOf: (stored, claim) => differenceOfStored({ chainId, sponsor: 'ANY' }, stored, claim),
    broadcast: (signed, options = {}) => broadcast(sources, signed, onSendAnswer, options),
    findInBlocks: (txHashes, stretch, options = {}) =>
      findInCheckpoints(
        sources,
        txHashes,
        stretch,
        { onSingleSource, acceptsSingleSource: isTestNetwork(network) },
        options,
      ),
    readPayment: (txHash, block, options = {}) => readPayment(sources, reader, txHash, block, options),
    sources: () => sources.health(),
  };
}
