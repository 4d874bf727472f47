import { suiAddressCodec } from '@opentill/chain-sui/address-codec';
import { askDevnetToPay } from './ask-devnet-to-pay.ts';
import type { TokenPayment } from './token-payment.ts';

/**
 * The customer of the SUI devnet: the first account of `opentill devnet sui`, which prints its key at every start. It is
 * worth nothing anywhere else.
 */
export const SUI_CUSTOMER = {
  address: '0x433d4d9bcdf6cd6cd882322828f89d86f84b58395d44e620bd55d3f29380b88c',
  privateKey: 'suiprivkey1qzr9w62gzkwvqxg6x5tc9tdtagrj24y3ktfzdra2nthrr6h0g467xhspafa',
};

/** Has the devnet sign and execute a transfer of its first account. Throws DevnetRefusal. */
export const payOnSui = (payment: TokenPayment): Promise<string> =>
  askDevnetToPay(payment, (text) => suiAddressCodec.parse(text) !== undefined, 'digests');
