import type { AssetBook } from '../asset-book.ts';
import type { NewOption } from '../store/create-orders.ts';

/** True while scanners read the coin: an operator may disable a chain or change a token after the order's creation. */
export function isEnabled(
  assets: Pick<AssetBook, 'find'>,
  { chain, symbol, contractAddress }: Pick<NewOption, 'chain' | 'symbol' | 'contractAddress'>,
): boolean {
  const asset = assets.find(chain, symbol);
  return asset !== undefined && asset.contract === contractAddress;
}
