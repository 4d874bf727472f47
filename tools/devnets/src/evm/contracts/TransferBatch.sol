// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Moves what it holds, as exchanges and multi-senders do: many transfers in one transaction, native coin from a
/// contract (seen in no transaction's `value`), and transfers that are taken back again.
contract TransferBatch {
    struct Item {
        address token; // zero: the native coin
        address to;
        uint256 amount;
    }

    error Reverted();

    receive() external payable {}

    function send(Item[] calldata items) external payable {
        sendAll(items);
    }

    /// Moves everything, then reverts: the receipt says failed and has no logs.
    function sendThenRevert(Item[] calldata items) external payable {
        sendAll(items);
        revert Reverted();
    }

    /// Moves everything in an inner call that reverts: the transaction succeeds, and nothing has moved.
    function sendAndRevertInside(Item[] calldata items) external payable {
        try this.sendThenRevert(items) {} catch {}
    }

    function sendAll(Item[] calldata items) private {
        for (uint256 i = 0; i < items.length; ++i) {
            Item calldata item = items[i];
            bool done;
            bytes memory answer;
            if (item.token == address(0)) {
                (done, ) = item.to.call{value: item.amount}("");
            } else {
                // Not through an interface: Tether's transfer returns nothing.
                (done, answer) = item.token.call(
                    abi.encodeWithSignature("transfer(address,uint256)", item.to, item.amount)
                );
            }
            require(done && (answer.length == 0 || abi.decode(answer, (bool))), "transfer failed");
        }
    }
}
