import { burntBy, type SweepMeans, type SweepNeed, type SweepPrices } from '@opentill/domain/ways-to-sweep';
import type { Address, AddressCodec } from '@opentill/chain/address-codec';
import type { NetworkConfig } from '@opentill/contracts/network-config';
import type { EnergyMarket } from '@opentill/chain/energy-accounts';
import { findAsset } from './known-assets.ts';
import type { SweepChain } from './sweep-chain.ts';
import type { CostObstacle, OpenSweep } from './store/sweep-facts.ts';

/** What the transaction of a sweep would take of its address now, and what is there. Native coin in base units. */
export interface FeeAtAddress {
  /** What it burns at most; what stake, own or lent, and free bytes pay for is not in it. */
  readonly burntBaseUnits: bigint;
  readonly coinBaseUnits: bigint;
  /** Where work is paid for otherwise as well. */
  readonly work: WorkAtAddress | undefined;
}

export interface WorkAtAddress {
  readonly need: SweepNeed;
  readonly means: SweepMeans;
  readonly prices: SweepPrices;
  readonly market: EnergyMarket;
}

interface FeeDeps {
  readonly network: NetworkConfig;
  readonly codec: AddressCodec;
  /** The hot wallet. */
  readonly wallet: Address;
  readonly chain: SweepChain;
}

/** What stands in the way of the transaction, where something does; undefined while nobody knows. */
export async function feeAtAddress(
  { chain, network, codec, wallet }: FeeDeps,
  { symbol, address, destination, amountBaseUnits }: OpenSweep,
  signal: AbortSignal,
): Promise<FeeAtAddress | CostObstacle | undefined> {
  const asset = findAsset(network, codec, symbol);
  if (asset === undefined) return undefined;
  const intent = { from: address, to: destination, contract: asset.contract, amountBaseUnits };
  const { energy } = chain;
  if (energy === undefined || asset.contract === null) {
    const [cost] = await chain.costsOf([intent], { signal });
    if (typeof cost !== 'bigint') return cost;
    const coinBaseUnits = await chain.coinAt(address, { signal });
    return { burntBaseUnits: cost, coinBaseUnits, work: undefined };
  }
  const [need] = await energy.needsOf([intent], { signal });
  if (need === undefined || typeof need === 'string') return need;
  const market = await energy.accounts.market(wallet, { signal });
  const means = await energy.accounts.means(address, { signal });
  const { prices } = market;
  return {
    burntBaseUnits: burntBy(need, means, prices),
    coinBaseUnits: means.coinBaseUnits,
    work: { need, means, prices, market },
  };
}
