// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Its native coin transfers are invisible in a transaction's `value`, and some of its transfers revert.
contract TransferBatch {
    struct Item {
        address token; // zero means the native coin
        address to;
        uint256 amount;
    }

    error Reverted();

    receive() external payable {}

    function send(Item[] calldata items) external payable {
        sendAll(items);
    }

    function sendThenRevert(Item[] calldata items) external payable {
        sendAll(items);
        revert Reverted();
    }

    /// Transfers in an inner call that reverts. The transaction succeeds without any transfer.
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
                // A low-level call, because Tether's transfer returns nothing.
                (done, answer) = item.token.call(
                    abi.encodeWithSignature("transfer(address,uint256)", item.to, item.amount)
                );
            }
            require(done && (answer.length == 0 || abi.decode(answer, (bool))), "transfer failed");
        }
    }
}
