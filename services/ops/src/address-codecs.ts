import { evmAddressCodec } from '@opentill/chain-evm/address';
import { suiAddressCodec } from '@opentill/chain-sui/address-codec';
import { tronAddressCodec } from '@opentill/chain-tron/address-codec';
import type { AddressCodec } from '@opentill/chain/address-codec';

/** Refunds need them. Add the codec of a new family here. */
export const ADDRESS_CODECS: readonly AddressCodec[] = [evmAddressCodec, tronAddressCodec, suiAddressCodec];
