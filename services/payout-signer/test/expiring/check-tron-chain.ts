import type { Address } from '@opentill/chain/address-codec';
import { shortHexOf } from '@opentill/chain-tron/address-codec';
import type { OrderRow } from '@opentill/testkit/scenario';
import { Payments } from '../world/compare-payments.ts';
import { post, type TronWorld } from './tron-world.ts';

interface RawBlock {
  readonly transactions?: readonly {
    readonly txID: string;
    readonly ret: readonly { readonly contractRet?: string }[];
    readonly raw_data: {
      readonly contract: readonly {
        readonly type: string;
        readonly parameter: {
          readonly value: {
            readonly owner_address: string;
            readonly to_address?: string;
            readonly amount?: number;
          };
        };
      }[];
    };
  }[];
}
interface RawInfo {
  readonly id: string;
  readonly receipt: { readonly result?: string };
  readonly log?: readonly { readonly topics: readonly string[]; readonly data: string }[];
}

const TRANSFER = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** Reads the chain without the gateway's code. `wrong`: unpaid, paid twice, wrong amount, foreign receiver. */
export async function checkChain(
  { devnet, wallet }: Pick<TronWorld, 'devnet' | 'wallet'>,
  orders: readonly OrderRow[],
): Promise<{ readonly payouts: number; readonly wrong: readonly string[] }> {
  const own = shortHexOf(wallet);
  const payments = new Payments();
  const { head } = devnet.control.summary();
  for (let num = 1; num <= head; num += 1) {
    const { transactions = [] } = await post<RawBlock>(devnet.url, 'getblockbynum', { num });
    if (transactions.length === 0) continue;
    const infos = await post<RawInfo[]>(devnet.url, 'gettransactioninfobyblocknum', { num });
    for (const { txID, ret, raw_data: raw } of transactions) {
      const [contract] = raw.contract;
      const value = contract?.parameter.value;
      if (value?.owner_address !== `41${own}` || ret[0]?.contractRet !== 'SUCCESS') continue;
      if (contract?.type === 'TransferContract')
        payments.add(value.to_address!.slice(2), BigInt(value.amount ?? 0));
      for (const { topics, data } of infos.find(({ id }) => id === txID)?.log ?? [])
        if (topics[0] === TRANSFER && topics[1]?.slice(24) === own)
          payments.add(topics[2]?.slice(24) ?? '', BigInt(`0x${data}`));
    }
  }
  return payments.compare(orders, ({ address }) => shortHexOf(address as Address));
}
