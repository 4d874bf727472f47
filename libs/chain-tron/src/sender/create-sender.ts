import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ExpiringSender } from '@opentill/chain/expiring-sender';
import type { SignerBackend } from '@opentill/chain/signer-backend';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import { tronPayoutTermsOf } from '@opentill/contracts/payout-terms';
import { hexOf, tronAddressCodec } from '../address-codec.ts';
import { checkNetwork, type SourceDefect } from '../check-network.ts';
import type { TokenContract } from '@opentill/chain/transfer';
import type { SendAnswer } from '@opentill/chain-sources/send-to-all';
import { createTronSources, type TronSourcesDeps } from '../tron-sources.ts';
import {
  createMemoryStore,
  createWitnessKeys,
  type NewWitnessKey,
  type WitnessKeyStore,
} from '../witness-keys.ts';
import { broadcast } from './broadcast.ts';
import { findInBlocks } from './find-in-blocks.ts';
import { learnWitnessKeys } from './learn-witness-keys.ts';
import { preparePayments } from './prepare-payments.ts';
import { readBalances } from './read-balances.ts';
import { createEnergyAccounts } from './read-energy.ts';
import { readPayment } from './read-payment.ts';
import { readWorkPrice } from './read-prices.ts';
import { differenceOfStored, signPayment } from './sign-payment.ts';

export interface TronSenderDeps extends TronSourcesDeps {
  readonly backend: SignerBackend;
  /** Raise an alarm for `wrongHash`. */
  readonly onSendAnswer?: (answer: SendAnswer) => void;
  /** Raise an alarm: a single source of several was accepted. */
  readonly onSingleSource?: (source: { readonly label: string }) => void;
  readonly onFinding?: (finding: SourceDefect) => void;
  /** @default in memory */
  readonly witnessKeyStore?: WitnessKeyStore;
  /** Raise an alarm: a witness signs with a new key. */
  readonly onWitnessKey?: (key: NewWitnessKey) => void;
}

const ignore = (): void => undefined;
/** Each time reads 54 headers of each source. */
const LEARN_EVERY_MS = 60 * 60 * 1_000;
const LEARN_AGAIN_MS = 5 * 60 * 1_000;

export function createTronSender(network: NetworkConfig, deps: TronSenderDeps): ExpiringSender {
  const terms = tronPayoutTermsOf(network);
  if (terms === undefined) throw new TypeError(`the network ${network.chain} has no payouts section`);
  const { backend, onSendAnswer = ignore, onSingleSource = ignore, onFinding = ignore } = deps;
  const { maxFeeLimitSun, energyMarginPercent, expirationMs } = terms;
  const sources = createTronSources(network, deps);
  const keys = createWitnessKeys({
    store: deps.witnessKeyStore ?? createMemoryStore(),
    epochMs: deps.epochMs ?? Date.now,
    onNewKey: deps.onWitnessKey ?? ignore,
  });
  const nowMs = deps.nowMs ?? (() => performance.now());
  let learnAtMs = Number.NEGATIVE_INFINITY;
  /** Only with a store that outlives the process. */
  const learn = async (options: ReadOptions): Promise<void> => {
    if (deps.witnessKeyStore === undefined || nowMs() < learnAtMs) return;
    learnAtMs = nowMs() + LEARN_AGAIN_MS;
    await learnWitnessKeys(sources, keys, options);
    learnAtMs = nowMs() + LEARN_EVERY_MS;
  };
  const tokens = network.tokens.flatMap(({ contract, decimals }) => {
    if (contract === null) return [];
    const address = tronAddressCodec.parse(contract);
    if (address === undefined) throw new TypeError(`not a token contract address: ${contract}`);
    return [{ contract: address as string as TokenContract, hex: hexOf(address), decimals }];
  });
  return {
    chain: network.chain,
    validForMs: expirationMs,
    async checkNetwork(options = {}) {
      await checkNetwork(sources, { tokens, onFinding }, options);
      // A replica that drives no wallet learns the keys here. A failure is ignored: newBlockKeys tries again.
      await learn(options).catch(ignore);
    },
    blockKeys: {
      async newBlockKeys(options = {}) {
        await keys.load();
        await learn(options);
        return keys.pending().map(({ witness, signer }) => `${witness}: ${signer}`);
      },
    },
    async balances(wallet, contracts, options = {}) {
      const read = await readBalances(sources, wallet, contracts, onSingleSource, options);
      return { ...read, scattered: new Map() };
    },
    workPrice: (options = {}) => readWorkPrice(sources, options),
    prepare: (intents, options = {}) =>
      preparePayments(sources, { maxFeeLimitSun, energyMarginPercent }, intents, onSingleSource, options),
    sign: (intent, validity, feeLimit) =>
      signPayment({ backend, maxFeeLimitSun }, intent, validity, feeLimit),
    differenceOf: differenceOfStored,
    broadcast: (signed, options = {}) => broadcast(sources, signed, onSendAnswer, options),
    findInBlocks: (txHashes, stretch, options = {}) =>
      findInBlocks({ sources, keys, onSingleSource }, txHashes, stretch, options),
    readPayment: (txHash, block, options = {}) =>
      readPayment(sources, txHash, block, onSingleSource, options),
    energy: createEnergyAccounts(sources, onSingleSource),
    sources: () => sources.health(),
  };
}
